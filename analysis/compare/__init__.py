"""Compare two runs: which points became faster or slower, and with what confidence."""

# Defaults, in per cent. The margin is larger than what separates two processes of the same code.
MARGIN, THRESHOLD = 1.0, 2.0
FALSE_DISCOVERIES = 5.0

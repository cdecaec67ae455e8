"""Hold your kernels: ``python -m kernels new NAME`` writes one here."""

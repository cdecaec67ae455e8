"""Is the output correct? Reference, tolerances, edge cases, rechecks."""

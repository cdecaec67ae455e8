"""Check that outputs are correct: reference, tolerances, edge cases, rechecks."""

"""Turn samples into statistics: sampling, intervals."""

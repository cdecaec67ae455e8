"""Which variants there are: found by their files, without a list to edit."""

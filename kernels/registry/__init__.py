"""Find variants by their files, without a list to edit."""

"""What maintainers run: pin the dependencies, record a GPU."""

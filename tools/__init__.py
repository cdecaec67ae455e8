"""What maintainers run: pin dependencies, record a GPU, put numbers into the documents."""

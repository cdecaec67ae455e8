"""Goals and measurements of the variant `frontier`, quoted by docs/notebook/frontier.md."""

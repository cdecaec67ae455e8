"""Goals and measurements of the variant `frontier`, quoted by docs/frontier.md."""

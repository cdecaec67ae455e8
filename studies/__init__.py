"""Studies of the measuring itself, each a package with its own command. No part of a sweep."""

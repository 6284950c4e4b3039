"""The published methods, one file each, as their papers describe them."""

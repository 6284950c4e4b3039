"""Data sets: what one is (`news`, `ratings`) and one reader for each published format."""

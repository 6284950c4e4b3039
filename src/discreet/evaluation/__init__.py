"""How well a ranking does, and how sure that is."""

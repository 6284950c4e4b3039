"""How well a ranking does, how sure that is, and how to show it."""

"""A publisher that lies, whole devices that talk to it, and what must be true of all they send."""

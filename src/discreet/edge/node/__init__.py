"""A machine that hosts readers: their clicks, what they were charged, and what it answers a server."""

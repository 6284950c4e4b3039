"""Rounds without an engine: what a client computes, what the server makes of it, and a fast simulator."""

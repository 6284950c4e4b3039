"""Sums over many people's devices that nobody sees into, by aggregators that do not collude."""

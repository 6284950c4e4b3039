"""A vendor's own ratings: what it gives to sums over vendors, and what it makes of the releases at home."""

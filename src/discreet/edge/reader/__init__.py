"""Everything that runs beside a reader's clicks. Whoever reads this package has read all that touches them."""

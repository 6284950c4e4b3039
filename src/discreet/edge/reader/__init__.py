"""Everything that runs on the device, next to a reader's clicks. All that touches them is in this package."""

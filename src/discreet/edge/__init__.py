"""Where raw data lives: a device, a node that hosts readers, a vendor. What leaves is a release or a contribution."""

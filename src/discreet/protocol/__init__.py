"""What goes over the wire between a device and a server: one schema, one set of limits, one version."""

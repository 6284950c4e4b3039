"""The version, apart from the public names, so that any layer may ask for it."""

__version__ = "0.9.0"

"""Discreet: private recommendation that says truthfully what it costs in privacy."""

__version__ = "0.1.0"

"""Readers of published data sets, one file a source."""

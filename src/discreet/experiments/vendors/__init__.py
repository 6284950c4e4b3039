"""Experiments with vendors who hold ratings."""

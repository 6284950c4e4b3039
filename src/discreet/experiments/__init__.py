"""Experiments on news and on ratings: measure, compare, report, reproduce."""

"""Vendors that predict ratings better together, without showing each other a user."""

"""Implicit feedback: vendors that know what their users bought or clicked, and not how much they liked it."""

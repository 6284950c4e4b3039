"""A week of a small local paper, played in a minute through all that is deployed: server, helper, devices, sums."""

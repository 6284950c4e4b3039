"""The methods by which vendors predict ratings, alone or together."""

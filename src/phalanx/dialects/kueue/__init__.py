"""Kueue, as far as its pods can be placed without it."""

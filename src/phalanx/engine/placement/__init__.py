"""Placement: how many copies fit, and where they go."""

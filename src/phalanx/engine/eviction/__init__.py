"""Eviction: who may leave for whom, and how room is made for a unit that waits."""

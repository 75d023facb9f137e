"""Eviction: which candidates may leave for a waiting unit, and how they are found."""

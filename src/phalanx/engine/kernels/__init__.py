"""Free functions over arrays."""

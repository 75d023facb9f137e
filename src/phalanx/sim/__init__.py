"""The pretend cluster: the same loop as a real one, on a virtual clock."""

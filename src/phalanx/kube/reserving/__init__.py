"""Shared GPUs on a cluster: pods that keep them from everybody else, and what tells a container which one it has."""

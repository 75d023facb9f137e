"""Memory between cycles: events go in, a snapshot comes out."""

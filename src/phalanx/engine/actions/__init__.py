"""Actions of a cycle: each is one file, a short story over the session."""

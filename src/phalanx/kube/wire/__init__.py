"""HTTP/1.1 as a client that binds thousands of pods needs it, and no more. Why not a library: docs/decisions/0011."""

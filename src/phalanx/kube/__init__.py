"""The real cluster: what is read from a Kubernetes API server and written to it."""

"""Dialects: Kubernetes objects to the model. Pure functions, one file per dialect; this is the core one."""

"""Controllers that talk to Kubernetes run against a real control plane."""

from phalanx.testing.control_plane import control_plane, fresh_control_plane, pytest_collection_modifyitems

__all__ = ["control_plane", "fresh_control_plane", "pytest_collection_modifyitems"]

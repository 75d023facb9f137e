"""The Jobs live on a real control plane."""

from phalanx.testing.control_plane import fresh_control_plane, pytest_collection_modifyitems

__all__ = ["fresh_control_plane", "pytest_collection_modifyitems"]

"""Tests of everything that talks to Kubernetes run against a real control plane."""

from phalanx.testing.control_plane import control_plane, fresh_control_plane, pytest_collection_modifyitems
from tests.kube.queue_cluster import queue_cluster, queue_plane
from tests.kube.real_helm import helm

__all__ = [
    "control_plane",
    "fresh_control_plane",
    "helm",
    "pytest_collection_modifyitems",
    "queue_cluster",
    "queue_plane",
]

"""A real Kubernetes control plane as plain processes on loopback, for tests and for people without a cluster."""

from phalanx.kube.local.control_plane import ControlPlane
from phalanx.kube.local.errors import LocalError, MissingError
from phalanx.kube.local.nodes import node_manifest
from phalanx.kube.local.versions import VERSIONS

__all__ = ["VERSIONS", "ControlPlane", "LocalError", "MissingError", "node_manifest"]

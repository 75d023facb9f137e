"""Pretend GPU nodes as manifests, ready to be created on a local control plane."""

from typing import Any


def node_manifest(
    name: str,
    *,
    gpus: int = 8,
    cpu: str = "96",
    memory: str = "1Ti",
    pods: int = 110,
    model: str = "H100",
    rack: str | None = None,
    zone: str | None = None,
) -> dict[str, Any]:
    """Return a Node that is ready and that KWOK, where it runs, keeps alive."""
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"}
    amounts = {"cpu": cpu, "memory": memory, "pods": str(pods)}
    if gpus:
        labels |= {"nvidia.com/gpu.product": model, "nvidia.com/gpu.count": str(gpus)}
        amounts["nvidia.com/gpu"] = str(gpus)
    if rack is not None:
        labels["topology.kubernetes.io/rack"] = rack
    if zone is not None:
        labels["topology.kubernetes.io/zone"] = zone
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "a pretend node"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "status": {"capacity": amounts, "allocatable": dict(amounts), "conditions": [ready]},
    }

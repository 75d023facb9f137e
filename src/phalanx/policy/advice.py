"""Advice: what a correct policy leaves undone, in sentences. It is no mistake to want that, only to not know it."""

from phalanx.engine.plugin import Score
from phalanx.engine.policy import Policy

#: What happens to pods when a filter is not in the list.
_UNHONOURED = {
    "node_ready": "pods go to nodes that are not ready or cordoned",
    "taints": "pods go to nodes whose taints they do not tolerate",
    "node_affinity": "nodeSelector and required node affinity are not honoured",
    "declared_features": "pods go to nodes whose kubelet cannot run them",
    "device_model": "the models in phalanx.dev/gpu-model are not honoured",
    "device_memory": "phalanx.dev/gpu-memory-minimum is not honoured",
    "mixed_devices": "on nodes with GPUs of several models, those that serve are not counted apart",
    "shared_devices": "pods that ask for a part of a GPU are held",
    "pod_anti_affinity": "required pod anti-affinity is not honoured, of running pods neither",
    "pod_affinity": "required pod affinity is not honoured",
    "topology_spread": "topologySpreadConstraints are not honoured",
    "exclusive_domains": "gangs that want a domain for themselves do not get it alone",
    "volume_binding": "pods may go to nodes from which their volumes cannot be used",
    "static_volumes": "more pods may be placed than there are volumes for, and their binds are refused",
    "volume_conflicts": "two pods may mount a disk that one alone can mount",
    "volume_limits": "a node may get more volumes than it can attach",
    "host_ports": "two pods with one host port may go to one node, where the second one fails",
    "resource_fit": "nodes are given more than they have, and their kubelets refuse the pods",
    "quota": "queues get more than their limits",
}


def warnings(policy: Policy) -> list[str]:
    """Return one sentence per constraint that this policy would not honour, and per part without effect."""
    names = {weighted.plugin.name for weighted in policy.plugins}
    found = [f"without {name}, {consequence}" for name, consequence in _UNHONOURED.items() if name not in names]
    if not policy.groups:
        found.append("without gang, every pod is decided alone and gangs are split")
    if not policy.actions:
        found.append("without an action such as allocate, nothing is ever placed")
    for weighted in policy.plugins:
        if weighted.weight != 1 and not isinstance(weighted.plugin, Score):
            found.append(f"the weight of {weighted.plugin.name} has no effect: it does not score")
    return found

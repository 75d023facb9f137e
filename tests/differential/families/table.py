"""The families, by name."""

from tests.differential.comparing import Family
from tests.differential.families import basic, features, neighbours, storage

FAMILIES: dict[str, Family] = {
    "resources": basic.resources,
    "taints": basic.taints,
    "node affinity": basic.node_affinity,
    "ports": basic.ports,
    "priority": basic.priority,
    "nominations": basic.nominations,
    "pods that repel": neighbours.repelled,
    "pod affinity": neighbours.affinity,
    "pod anti-affinity": neighbours.anti_affinity,
    "topology spread": neighbours.spread,
    "declared features": features.declared_features,
    "bound volumes": storage.bound,
    "static volumes": storage.static,
    "provisioned volumes": storage.provisioned,
    "attach limits": storage.limits,
    "inline disks": storage.disks,
}

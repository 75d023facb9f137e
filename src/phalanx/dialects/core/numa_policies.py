"""What a node does with pods that would lie across NUMA nodes, as its labels and objects beside it write it."""

from collections.abc import Mapping

from phalanx.model.keys import label
from phalanx.model.quantity import shown

#: Koordinator's label on nodes.
LABEL = "node.koordinator.sh/numa-topology-policy"
#: Its values, and those of pods -> the kubelet's names.
CALLED = {"BestEffort": "best-effort", "Restricted": "restricted", "SingleNUMANode": "single-numa-node"}
#: The kubelet's own.
OWN = ("none", "best-effort", "restricted", "single-numa-node")


def numa_policy(labels: Mapping[str, str]) -> tuple[str, str | None]:
    """Return the policy of a node (empty: no label says it), and what is wrong with the label."""
    text = labels.get(LABEL)
    if not text:
        return "", None
    if text not in CALLED:
        return "", f"{label(LABEL)}: found {shown(text)}, allowed is {', '.join(CALLED)}; it says nothing"
    return CALLED[text], None

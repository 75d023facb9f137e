"""Topology: nodes grouped into domains (zone, block, rack, NVLink island) by the value of a label.

An object that names the nodes of a domain gives them such a label in snapshots (`DomainSeen`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from phalanx.model.axis import Int

#: The node label of which every node has a value of its own.
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


@dataclass(frozen=True, slots=True)
class Domains:
    """One level: which domain each node is in. Nodes without the label are in none (-1)."""

    key: str
    #: Sorted, so that a domain's number does not depend on the order of events.
    names: tuple[str, ...]
    of_node: Int
    number: Mapping[str, int]


def domains(key: str, labels: Sequence[Mapping[str, str]]) -> Domains:
    """Group nodes, given their labels in row order, by one label."""
    values = [of_node.get(key) for of_node in labels]
    names = tuple(sorted({value for value in values if value is not None}))
    number = {name: position for position, name in enumerate(names)}
    of_node = np.fromiter((-1 if value is None else number[value] for value in values), np.int64, len(values))
    of_node.flags.writeable = False
    return Domains(key, names, of_node, number)

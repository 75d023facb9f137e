"""Where volumes can be used or made: rows of nodes from the terms of volumes and classes."""

from collections.abc import Iterable, Mapping

import numpy as np

from phalanx.engine.kernels.match import term_mask
from phalanx.model.axis import Bool, Int
from phalanx.model.selectors import NodeTerm
from phalanx.model.snapshot import NodeTable
from phalanx.model.volume import Place, VolumeTable, Want


def place_mask(nodes: NodeTable, place: Place | None) -> Bool:
    """Return where one of the terms matches; None: everywhere."""
    if place is None:
        return np.ones(len(nodes), np.bool_)
    mask: Bool = np.logical_or.reduce([np.zeros(len(nodes), np.bool_), *(term_mask(nodes, term) for term in place)])
    return mask


def rows_of(nodes: NodeTable, places: Iterable[Place | None]) -> Mapping[Place | None, Int]:
    """Return the rows of each place. Those of one host are looked up: there may be one for every node."""
    by_label: dict[str, tuple[Int, Int]] = {}
    found: dict[Place | None, Int] = {}
    # A loop over the distinct places of volumes that are nobody's.
    for place in places:
        if place is None or len(place) != 1 or len(place[0].labels) != 1 or place[0].labels[0].operator != "In":
            found[place] = np.flatnonzero(place_mask(nodes, place))
            continue
        wish = place[0].labels[0]
        domains = nodes.domains(wish.key)
        if wish.key not in by_label:
            order = np.argsort(domains.of_node, kind="stable")
            by_label[wish.key] = order, np.searchsorted(domains.of_node[order], np.arange(len(domains.names) + 1))
        order, start = by_label[wish.key]
        numbers = [domains.number[value] for value in wish.values if value in domains.number]
        parts = [order[start[one] : start[one + 1]] for one in numbers]
        found[place] = parts[0] if len(parts) == 1 else np.sort(np.concatenate([np.zeros(0, np.int64), *parts]))
    return found


def provision_mask(nodes: NodeTable, table: VolumeTable | None, want: Want) -> Bool:
    """Return where the class of a claim can make its volume."""
    made = table.provisions.get(want.storage_class) if table is not None else None
    if made is None:
        return np.zeros(len(nodes), np.bool_)
    mask = place_mask(nodes, made.place)
    if want.selected:
        mask = mask & (np.arange(len(nodes)) == nodes.row.get(want.selected, -1))
    if made.capacities is None or want.size is None:
        return mask
    enough = np.zeros(len(nodes), np.bool_)
    for selector, largest in made.capacities:
        if largest >= want.size:
            wishes = selector.requirements
            enough |= term_mask(nodes, NodeTerm(wishes)) if wishes else np.True_
    return mask & enough

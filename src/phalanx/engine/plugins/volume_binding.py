"""VolumeBinding: a task goes where its volumes are, or where they can be had."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.kernels.match import term_mask
from phalanx.engine.kernels.volumes import place_mask, provision_mask, rows_of
from phalanx.engine.plugin import Plugin, yes_no
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import Bool, Int
from phalanx.model.selectors import NodeTerm, Requirement
from phalanx.model.snapshot import NodeTable, Snapshot
from phalanx.model.volume import Needs, Place, Want

#: Where a node that has none of these labels is in no zone, every old volume can be used.
ZONE_LABELS = (
    "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
)  # fmt: skip
_NEWER = dict(zip(ZONE_LABELS[:2], ZONE_LABELS[2:], strict=True))


@dataclass(frozen=True, slots=True)
class VolumeBinding(Plugin):
    """Let through nodes from which every volume of the task can be used, and where its unbound claims can get one."""

    name: ClassVar[str] = "volume_binding"
    reads: ClassVar[tuple[str, ...]] = ("volumes",)
    static: ClassVar[bool] = True

    def room(self, session: Session, request: Request) -> Int | None:
        """Return yes or no per node."""
        needs = session.snapshot.shapes[request.shape].volumes
        if needs is None or not (needs.places or needs.zones or needs.wants):
            return None
        nodes = session.snapshot.nodes
        allowed = np.ones(len(nodes), np.bool_)
        for mask, _ in _parts(session.snapshot, needs):
            allowed &= mask
        return yes_no(allowed)

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Name the first volume or claim that keeps each node out, and where it is."""
        needs = session.snapshot.shapes[request.shape].volumes
        assert needs is not None, "only a shape with volumes is refused for them"
        left, found = nodes, []
        for mask, why in _parts(session.snapshot, needs):
            out = ~mask[left]
            if out.any():
                found.append((int(out.sum()), why + _named(session, request) if why.startswith("outside") else why))
                left = left[~out]
        return sorted(found, key=lambda one: -one[0])


def _parts(snapshot: Snapshot, needs: Needs) -> list[tuple[Bool, str]]:
    """Return what must hold of a node, each with words for where it does not."""
    nodes = snapshot.nodes
    parts = [(place_mask(nodes, place), f"outside {_where(place)}, where its volume is") for place in needs.places]
    if needs.zones:
        parts.append((_zone_mask(nodes, needs.zones), f"outside {_zones(needs)}, where its volume is"))
    for want in dict.fromkeys(needs.wants):
        parts.append(_obtainable(snapshot, want))
    return parts


def _static_mask(snapshot: Snapshot, want: Want) -> Bool:
    """Return where some volume that is nobody's would do."""
    table, nodes = snapshot.volumes, snapshot.nodes
    places = {one.place for one in table.free if want.takes(one)} if table is not None and not want.selected else set()
    mask = np.zeros(len(nodes), np.bool_)
    for rows in rows_of(nodes, places).values():
        mask[rows] = True
    return mask


def _obtainable(snapshot: Snapshot, want: Want) -> tuple[Bool, str]:
    """Return where a claim can get a volume, and words for where not."""
    made = snapshot.volumes.provisions.get(want.storage_class) if snapshot.volumes is not None else None
    mask = provision_mask(snapshot.nodes, snapshot.volumes, want) | _static_mask(snapshot, want)
    if want.selected:
        return mask, f"other than {want.selected}, where its claim is to get a volume"
    if made is None:
        return mask, f"without a free volume of class {want.storage_class} for its claim"
    if made.place is not None and (mask >= place_mask(snapshot.nodes, made.place)).all():
        return mask, f"outside the topologies of class {want.storage_class}"
    return mask, f"where class {want.storage_class} has too little capacity for its claim"


def _zone_mask(nodes: NodeTable, zones: tuple[tuple[str, tuple[str, ...]], ...]) -> Bool:
    """Return where every zone and region matches, or the node is in none at all."""

    def labelled(key: str) -> Bool:
        return term_mask(nodes, NodeTerm((Requirement(key, "Exists"),)))

    mask = np.ones(len(nodes), np.bool_)
    for key, values in zones:
        fits = term_mask(nodes, NodeTerm((Requirement(key, "In", values),)))
        if key in _NEWER:
            # An old label of a volume may stand for a new one of the node.
            newer = term_mask(nodes, NodeTerm((Requirement(_NEWER[key], "In", values),)))
            fits = np.where(labelled(key), fits, newer)
        mask &= fits
    nowhere: Bool = ~np.logical_or.reduce([labelled(key) for key in ZONE_LABELS])
    return mask | nowhere


def _named(session: Session, request: Request) -> str:
    """Return the volumes by name, where nobody else waits for the same: gangs that do share one reason."""
    snapshot = session.snapshot
    needs, tasks = snapshot.shapes[request.shape].volumes, snapshot.tasks
    alike = [row for row, shape in enumerate(snapshot.shapes) if shape.volumes == needs]
    rows = np.flatnonzero(np.isin(tasks.shape, alike))
    if request.gang < 0 or (tasks.gang[rows] != request.gang).any():
        return ""
    names = sorted({name for row in rows.tolist() if row in tasks.volumes for name in tasks.volumes[row].volumes})
    return f" ({', '.join(names[:3])}{', …' if len(names) > 3 else ''})" if names else ""


def _where(place: Place) -> str:
    return " or ".join(" and ".join(_wish(one) for one in term.labels) for term in place[:3]) or "any node"


def _zones(needs: Needs) -> str:
    return " and ".join(f"{key}={'|'.join(values)}" for key, values in needs.zones)


def _wish(one: Requirement) -> str:
    values = "|".join(one.values[:3]) + ("|…" if len(one.values) > 3 else "")
    if one.operator == "In":
        return f"{one.key}={values}"
    return f"{one.key} {one.operator}" + (f" {values}" if values else "")

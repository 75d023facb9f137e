"""Models apart: devices of a model that queues count by itself: what each node has of them, and who asks for them."""

import numpy as np

from phalanx.model.axis import Axis, Bool, Int, unit
from phalanx.model.charges import Apart, Charge, Charges
from phalanx.model.device import DeviceTable, is_model
from phalanx.model.snapshot import NodeTable
from phalanx.model.task import Shape


def apart_on(charges: Charges, listed: tuple[str, ...], axis: Axis, nodes: NodeTable) -> list[tuple[int, Charge, Int]]:
    """Return for each line about a model that some queue lists: its place there, and [node] what there is to divide."""
    found = []
    for line in charges.models:
        if line.counts_as not in listed:
            continue
        amounts = np.zeros(len(nodes), np.int64)
        for column, name in enumerate(axis.names):
            worth = line.worth(name)
            if worth is not None:
                devices = nodes.devices.per_node(_of_model(nodes.devices, name, line.model), len(nodes))
                amounts += worth.of_all(np.minimum(nodes.allocatable[:, column], devices * unit(name)))
        found.append((listed.index(line.counts_as), line, amounts))
    return found


def models_apart(
    charges: Charges, listed: tuple[str, ...], nodes: NodeTable, shapes: tuple[Shape, ...]
) -> tuple[Apart, ...]:
    """Return the models that some queue counts apart; none in most clusters."""
    found = []
    for line in charges.models:
        if line.counts_as not in listed:
            continue
        names = {name for name in nodes.devices.resources if line.worth(name) is not None}
        chosen = np.zeros(len(nodes.devices), np.bool_)
        for name in names:
            chosen |= _of_model(nodes.devices, name, line.model)
        strangers = np.array([_strange(line, names, shape) for shape in shapes], np.bool_)
        found.append(Apart(line.model, line.counts_as, nodes.devices.per_node(chosen, len(nodes)) > 0, strangers))
    return tuple(found)


def _of_model(table: DeviceTable, resource: str, model: str) -> Bool:
    known = np.array([is_model(model, one) for one in table.models], np.bool_)
    return table.of_resource(resource) & table.usable & (known[table.model] if len(known) else False)


def _strange(line: Charge, names: set[str], shape: Shape) -> bool:
    asks = shape.part is not None or any(name in names for name, _ in shape.requests)
    return asks and (shape.devices is None or not line.asked(shape.devices.models))

"""Which devices serve a wish, and how many places of them each node has."""

import numpy as np

from phalanx.model.axis import AMOUNT_MAX, Bool, Float, Int, unit
from phalanx.model.device import DeviceTable, DeviceWish
from phalanx.model.task import Shape


def asked(table: DeviceTable, shape: Shape) -> list[tuple[str, int]]:
    """Return the resources of which a shape wants devices, and how many of each.

    Who asks for several kinds of devices (GPUs and network cards) means those of which nodes say a model or a memory.
    """
    named = [(name, -(-amount // unit(name))) for name, amount in shape.requests if name in table.resources]
    if len(named) > 1:
        told = [pair for pair in named if (table.of_resource(pair[0]) & ((table.memory > 0) | known(table))).any()]
        return told or named
    return named


def asked_rows(table: DeviceTable, shape: Shape) -> Bool:
    """Return which devices are of a resource that the shape asks for."""
    chosen = np.zeros(len(table), np.bool_)
    for name, _ in asked(table, shape):
        chosen |= table.of_resource(name)
    return chosen


def room(table: DeviceTable, shape: Shape, served: Bool, nodes: int) -> Int:
    """Return how many copies of a shape the devices that serve would hold if nobody else were there."""
    found = np.full(nodes, AMOUNT_MAX, np.int64)
    wanted = [(name, count) for name, count in asked(table, shape) if count]
    for name, count in wanted:
        np.minimum(found, places(table, served & table.of_resource(name), nodes) // count, out=found)
    return found if wanted else np.zeros(nodes, np.int64)


def known(table: DeviceTable) -> Bool:
    """Return of which devices the model is known."""
    return np.array([bool(name) for name in table.models], np.bool_)[table.model]


def worths(table: DeviceTable, wish: DeviceWish) -> Float:
    """Return what each device is worth by its model; NaN where it does not serve."""
    found = [wish.worth(model) for model in table.models]
    return np.array([np.nan if worth is None else worth for worth in found], np.float64)[table.model]


def serving(table: DeviceTable, wish: DeviceWish, *, memory: bool = True) -> Bool:
    """Return which usable devices serve: by model, and by memory too unless told otherwise."""
    found = table.usable & ~np.isnan(worths(table, wish))
    return found & (table.memory >= wish.memory) if memory else found


def places(table: DeviceTable, chosen: Bool, nodes: int) -> Int:
    """Return to how many pods the device plugin of each node gives these devices out."""
    total = np.zeros(nodes, np.int64)
    np.add.at(total, table.node[chosen], table.replicas[chosen])
    return total

"""Which kinds of devices serve a wish, and how many places of them each node has."""

from collections.abc import Iterable

import numpy as np

from phalanx.model.axis import AMOUNT_MAX, Bool, Float, Int, unit
from phalanx.model.device import DeviceKinds, DeviceWish
from phalanx.model.task import Shape


def asked(kinds: DeviceKinds, shape: Shape) -> list[tuple[str, int]]:
    """Return the resources of which a shape wants devices, and how many of each.

    Who asks for several kinds of devices (GPUs and network cards) means those of which nodes say a model or a memory.
    """
    named = [(name, -(-amount // unit(name))) for name, amount in shape.requests if amount and name in kinds.resources]
    if len(named) > 1:
        told = (kinds.memory > 0) | known(kinds)
        return [pair for pair in named if (of_resources(kinds, pair[:1]) & told).any()] or named
    return named


def of_resources(kinds: DeviceKinds, names: Iterable[str]) -> Bool:
    """Return which kinds are of these resources."""
    listed = set(names)
    return np.array([name in listed for name in kinds.resources], np.bool_)[kinds.resource]


def asked_kinds(kinds: DeviceKinds, shape: Shape) -> Bool:
    """Return which kinds are of a resource that the shape asks for."""
    return of_resources(kinds, (name for name, _ in asked(kinds, shape)))


def known(kinds: DeviceKinds) -> Bool:
    """Return of which kinds the model is known."""
    return np.array([bool(name) for name in kinds.models], np.bool_)[kinds.model]


def worths(kinds: DeviceKinds, wish: DeviceWish) -> Float:
    """Return what each kind is worth by its model; NaN where it does not serve."""
    found = [wish.worth(model) for model in kinds.models]
    return np.array([np.nan if worth is None else worth for worth in found], np.float64)[kinds.model]


def serving(kinds: DeviceKinds, wish: DeviceWish, *, memory: bool = True) -> Bool:
    """Return which kinds serve: by model, and by memory too unless told otherwise."""
    found: Bool = ~np.isnan(worths(kinds, wish))
    return found & (kinds.memory >= wish.memory) if memory else found


def places(kinds: DeviceKinds, chosen: Bool, nodes: int) -> Int:
    """Return to how many pods the device plugin of each node gives devices of these kinds out."""
    entries = chosen[kinds.kind]
    return np.bincount(kinds.node[entries], weights=kinds.places[entries], minlength=nodes).astype(np.int64)


def room(kinds: DeviceKinds, shape: Shape, served: Bool, nodes: int) -> Int:
    """Return how many copies of a shape the devices that serve would hold if nobody else were there."""
    found, wanted = np.full(nodes, AMOUNT_MAX, np.int64), asked(kinds, shape)
    for name, count in wanted:
        there = places(kinds, served & of_resources(kinds, (name,)), nodes)
        # How many share a device is not said by how many devices there are.
        most = there // count if shape.part is None else np.where(there >= shape.part.devices, AMOUNT_MAX, 0)
        np.minimum(found, most, out=found)
    return found if wanted else np.zeros(nodes, np.int64)

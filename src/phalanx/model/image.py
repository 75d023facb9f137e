"""Images: what a node has already of what containers start from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from phalanx.model.axis import Int


@dataclass(frozen=True, slots=True)
class Image:
    """An image that a node has, by every name that it goes by there."""

    names: tuple[str, ...]
    #: Bytes.
    size: int


@dataclass(frozen=True, slots=True)
class ImageWish:
    """Which images a pod starts from, sorted: one that two containers start from is there twice."""

    names: tuple[str, ...]
    containers: int


@dataclass(frozen=True, slots=True)
class Holding:
    """An image, and the rows of the nodes that have it."""

    size: int
    nodes: Int


def holdings(images: Sequence[Sequence[Image]]) -> Mapping[str, Holding]:
    """Return who has each image, by its names, given the images of the nodes in row order.

    A loop over nodes, done again only when the images of some node changed. An image has the size that the first node
    gives: they differ by nothing but a mistake.
    """
    sizes: dict[str, int] = {}
    rows: dict[str, list[int]] = {}
    for row, here in enumerate(images):
        for name, size in {name: image.size for image in here for name in image.names}.items():
            sizes.setdefault(name, size)
            rows.setdefault(name, []).append(row)
    return {name: Holding(sizes[name], np.array(found, np.int64)) for name, found in rows.items()}

"""ImageLocality: prefer nodes that have the images already (kube-scheduler's formula)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.plugin import Plugin
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import Float, Int

_MEBI = 2**20
#: Less than the one counts as nothing; more than the other, for each container, counts as no more.
_LEAST, _MOST = 23 * _MEBI, 1000 * _MEBI


@dataclass(frozen=True, slots=True)
class ImageLocality(Plugin):
    """Score the sizes of the images that a node has, each times the share of nodes that have it."""

    name: ClassVar[str] = "image_locality"
    reads_images: ClassVar[bool] = True

    def score(self, session: Session, request: Request, nodes: Int, copies: Int) -> Float | None:
        """Return the sum between the two thresholds, in hundredths."""
        del copies
        wish = session.snapshot.shapes[request.shape].images
        if wish is None:
            return None
        scores = session.once(("images", wish), lambda: self._scores(session, request), static=True)
        scored: Float = scores[nodes] / 100
        return scored

    def _scores(self, session: Session, request: Request) -> Int:
        table, wish = session.snapshot.nodes, session.snapshot.shapes[request.shape].images
        assert wish is not None, "asked about a shape that wants no images"
        total, holders = np.zeros(len(table), np.int64), table.holders
        for name in wish.names:
            if (there := holders.get(name)) is not None:
                # An image that few have counts for less, so that not all that want it go to those few.
                total[there.nodes] += int(there.size * (len(there.nodes) / len(table)))
        most = _MOST * wish.containers
        return 100 * (np.clip(total, _LEAST, most) - _LEAST) // (most - _LEAST)

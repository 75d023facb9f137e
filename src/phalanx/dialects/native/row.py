"""The row of Phalanx's own annotations, labels and Queues."""

from phalanx.dialects.dialect import Dialect, Kind, Version
from phalanx.dialects.native import annotations, parts, queue_objects
from phalanx.dialects.native.holds import holds
from phalanx.dialects.native.queues import GROUP, KIND, VERSION, read_queue
from phalanx.model.events import QueueGone

NATIVE = Dialect(
    name="native",
    kinds=(
        Kind(
            kind=KIND,
            group=GROUP,
            plural="queues",
            namespaced=False,
            versions=(Version(VERSION.rpartition("/")[2], queue_objects.Queue, read_queue),),
            gone=QueueGone,
            awaited=True,
            qualified=False,
        ),
    ),
    membership=annotations.membership,
    descriptions=annotations.descriptions,
    refine=annotations.refine,
    queue=annotations.queue,
    wishes=annotations.wishes,
    part=parts.part,
    groups=parts.groups,
    holds=holds,
)

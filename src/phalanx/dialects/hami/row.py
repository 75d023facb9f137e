"""The row of HAMi, and of Volcano's vGPUs."""

from phalanx.dialects.core.pod_objects import Pod
from phalanx.dialects.dialect import Dialect, Wishes
from phalanx.dialects.hami import annotations, parts, telling
from phalanx.dialects.mistakes import Mistakes


def _wishes(pod: Pod, alone: bool, priority: int, mistakes: Mistakes) -> Wishes | None:
    del alone, priority
    found = annotations.wish(pod, mistakes)
    return None if found is None else Wishes(devices=found)


HAMI = Dialect(
    name="hami", wishes=_wishes, part=parts.part, groups=annotations.groups, holds=annotations.holds,
    sides=(telling.HAMI, telling.VOLCANO),
)  # fmt: skip

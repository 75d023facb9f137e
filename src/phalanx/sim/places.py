"""Places: what depends on where in the tree gangs are: how long their work takes, and who is split by relabelling."""

from collections.abc import Sequence

import numpy as np

from phalanx.model.closeness import Closeness, closeness
from phalanx.model.task import Task
from phalanx.model.tree import USUAL, Level
from phalanx.sim.timeline import Timeline
from phalanx.world.neighbourhood import split_gangs
from phalanx.world.world import World


class Places:
    """Looks at the world where the cluster asks it to."""

    def __init__(self, world: World, timeline: Timeline) -> None:
        self._world, self._network, self._talks = world, timeline.network, timeline.talks
        #: The levels by which domains are told apart; None: the usual ones.
        self.levels: tuple[Level, ...] | None = None
        usual = {level.key for level in USUAL}
        self._labelled = any(usual & node.labels.keys() for node in timeline.nodes)
        #: What is said of gangs that were split, and since when.
        self.splits: dict[str, float] = {}

    @property
    def networked(self) -> bool:
        """Tell whether it is described how fast gangs talk."""
        return self._network is not None

    def stretch(self, gang: str, running: Sequence[Task]) -> float:
        """Return how many times as long the work takes where its members are, as where they talk fastest."""
        talks = self._talks.get(gang)
        if self._network is None or talks is None:
            return 1.0
        table = self._world.node_table()
        rows = np.array([table.row[task.node or ""] for task in running], np.int64)
        return self._network.stretch(talks, table.tree(self.levels), rows)

    def closeness(self, running: Sequence[Task]) -> Closeness | None:
        """Return how close the members of a gang are; None: it is one pod, or nodes are in no domains."""
        if len(running) < 2 or not (self.levels or self._labelled):
            return None
        table = self._world.node_table()
        rows = np.array([table.row[task.node or ""] for task in running], np.int64)
        return closeness(table.tree(self.levels), rows)

    def relabelled(self, now: float) -> None:
        """Note who is split since nodes have other labels."""
        for text in split_gangs(self._world, self.levels).values():
            self.splits.setdefault(text, now)

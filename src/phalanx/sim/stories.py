"""The stories of the demo: three disasters of a pod-by-pod scheduler, played on the simulator."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

from phalanx.engine.policy import Policy
from phalanx.model.axis import unit
from phalanx.model.plan import Code, Reason, Wait
from phalanx.sim.picture import Row, board
from phalanx.sim.scenario import read_scenario
from phalanx.sim.simulator import Moment, Simulator
from phalanx.sim.telling import told
from phalanx.sim.timeline import timeline
from phalanx.world.views import members_of


@dataclass(frozen=True, slots=True)
class Story:
    """One story: its scenario, and perhaps a second one with another end."""

    name: str
    title: str
    #: The scenario of another ending, and what it asks.
    encore: tuple[str, str] | None = None

    @property
    def text(self) -> str:
        """Return its scenario."""
        return story_text(self.name)


STORIES = (
    Story("deadlock", "Deadlock", ("complete-at-once", "When both gangs are complete at once")),
    Story("fragmentation", "Fragmentation"),
    Story("packing", "Packing a group"),
)


def story_text(name: str) -> str:
    """Return a scenario that ships."""
    return (resources.files("phalanx.sim") / "stories" / f"{name}.scenario").read_text("utf-8")


@dataclass(frozen=True, slots=True)
class Lack:
    """What a gang waited for: devices that it needed together, and how many were free on which nodes."""

    needed: int
    free: dict[str, int]


@dataclass(frozen=True, slots=True)
class Frame:
    """One instant of a story: what happened, what was decided, and how the nodes look after it."""

    moment: Moment
    lines: list[str]
    rows: tuple[Row, ...]
    #: By name of the gang, for those that waited for room.
    lacks: dict[str, Lack]


def play(text: str, policy: Policy) -> tuple[Simulator, Iterator[Frame]]:
    """Return a simulator with a scenario, and its frames; they are played as they are asked for."""
    simulator = Simulator(timeline(read_scenario(text), schedulers=policy.scheduler_names), policy)
    return simulator, _frames(simulator)


def _frames(simulator: Simulator) -> Iterator[Frame]:
    heard: dict[str, Reason] = {}
    for moment in simulator.run():
        rows = board(simulator)
        waits = moment.plan.waits if moment.plan else ()
        lacks = {wait.gang: _lack(simulator, wait, rows) for wait in waits if wait.reason.code is Code.FULL}
        yield Frame(moment, told(moment, heard), rows, lacks)


def _lack(simulator: Simulator, wait: Wait, rows: tuple[Row, ...]) -> Lack:
    world, device = simulator.world, simulator.cluster.meter.device
    one = next(task for task in members_of(world, wait.gang_key) if task.node is None)
    each = dict(one.shape.requests).get(device, 0) // unit(device)
    free = {row.node: row.free for row in rows if row.free and row.ready}
    return Lack(max(wait.reason.wanted, 1) * each, free)

"""A picture of nodes and their devices: `[T][T][i][ ][ ]`, one column per device, a bracket around each pod.

The letter names the gang; it is a capital when the gang works, and small when it only holds its place. So the
picture says the same without colour.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from rich.text import Text

from phalanx.model.axis import unit
from phalanx.sim.life import life_key
from phalanx.sim.simulator import Simulator
from phalanx.world.views import nodes_of, tasks_on

_COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red")


@dataclass(frozen=True, slots=True)
class Held:
    """Devices that one pod holds."""

    gang: str
    devices: int
    working: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One node: how many devices it has, and who holds them, in the order of arrival."""

    node: str
    devices: int
    held: tuple[Held, ...]
    ready: bool

    @property
    def free(self) -> int:
        """Return how many devices nobody holds."""
        return self.devices - sum(pod.devices for pod in self.held)


def board(simulator: Simulator) -> tuple[Row, ...]:
    """Return who holds what now, node by node."""
    world, cluster = simulator.world, simulator.cluster
    device = cluster.meter.device
    rows = []
    for name, node in sorted(nodes_of(world).items()):
        held = []
        for task in tasks_on(world, name):
            amount = dict(task.shape.requests).get(device, 0) // unit(device)
            if amount:
                life = cluster.lives[life_key(task)]
                held.append(Held(life.name, amount, life.working))
        rows.append(Row(name, node.allocatable.get(device, 0) // unit(device), tuple(held), node.ready))
    return tuple(rows)


def family(name: str) -> str:
    """Return what gangs of one kind are called together: `small` for `default/small-3`."""
    return re.sub(r"-?[0-9]+$", "", name.rpartition("/")[2]) or name


@dataclass(slots=True)
class Palette:
    """A letter and a colour for each family, given as they come."""

    letters: dict[str, str] = field(default_factory=dict[str, str])

    def letter(self, name: str) -> str:
        """Return the family's letter: the first of its own that is not taken."""
        if name not in self.letters:
            taken = set(self.letters.values())
            wishes = (*name.upper(), *"ABCDEFGHIJKLMNOPQRSTUVWXYZ")
            self.letters[name] = next((one for one in wishes if one.isalpha() and one not in taken), "?")
        return self.letters[name]

    def style(self, name: str) -> str:
        """Return the family's colour."""
        self.letter(name)
        return _COLOURS[list(self.letters).index(name) % len(_COLOURS)]


def draw(row: Row, palette: Palette) -> Text:
    """Return one node as `n1 [T][T][i][ ][ ]`."""
    text = Text(f"{row.node} ")
    if not row.ready:
        return text.append("down".center(3 * row.devices), style="red")
    for pod in row.held:
        letter, colour = palette.letter(family(pod.gang)), palette.style(family(pod.gang))
        inside = "  ".join([letter if pod.working else letter.lower()] * pod.devices)
        text.append(f"[{inside}]", style=f"bold {colour}" if pod.working else colour)
    return text.append("[ ]" * row.free, style="dim")


def legend(names: Iterable[str], palette: Palette) -> Text:
    """Return which letter is whose."""
    parts = [Text(f"{palette.letter(name)} {name}", style=palette.style(name)) for name in names]
    return Text(", ").join(parts).append("; a small letter holds its place and does no work", style="dim")

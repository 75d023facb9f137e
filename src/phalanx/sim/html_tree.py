"""The topology tree of a cluster as boxes in boxes, at the busiest instant of a run: who has what, by colour."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from phalanx.model.tree import Tree
from phalanx.sim.duration import written
from phalanx.sim.html_parts import counted
from phalanx.sim.picture import Row, board
from phalanx.sim.simulator import Simulator
from phalanx.sim.telling import devices, short

#: Of more nodes those that come first along the tree are drawn.
NODES_MAX = 2048
#: So many gangs have a colour of their own and stand in the legend: those that hold most.
GANGS_MAX = 24
#: A board is kept when so much more is held than on the last one: of a long run a hundred or so.
_MORE = 1.03


@dataclass(slots=True)
class Busiest:
    """Keeps who held what when about as much was held as ever in a run."""

    now: float = 0.0
    rows: tuple[Row, ...] = ()
    _held: int = 0

    def look(self, simulator: Simulator) -> None:
        """Look at an instant."""
        held = simulator.cluster.meter.held
        if held > self._held * _MORE:
            self.now, self.rows, self._held = simulator.now, board(simulator), held


@dataclass(frozen=True, slots=True)
class _Spread:
    """A gang on the board: its pods, what it holds, and the domains that it is in."""

    name: str
    pods: int
    devices: int
    domains: int


def tree_html(found: Busiest, simulator: Simulator) -> str:
    """Return the picture; nothing where nodes are in no domains, or nothing was held."""
    table = simulator.world.node_table()
    tree = table.tree(simulator.policy.levels)
    if tree.lowest == 0 or not found.rows:
        return ""
    row_of = table.row
    rows = sorted((row for row in found.rows if row.node in row_of), key=lambda row: tree.position[row_of[row.node]])
    place = {row.node: _path(tree, table.row[row.node]) for row in rows}
    gangs = _spreads(rows, place)
    colours = {gang.name: f"hsl({at * 137.508 % 360:.0f} 62% {46 + 12 * (at % 2)}%)" for at, gang in enumerate(gangs)}
    what = devices(simulator.cluster.meter.device)
    levels = " > ".join(level.name for level in tree.levels[: tree.lowest])
    note = (
        f"At {written(found.now)}, when about as many {what} were held as ever. Boxes are {escape(levels)}; a node is "
        f"a bar of its {what}, and each pod a piece of it: of gangs of several pods in their colour, of others grey."
    )
    shown, left = rows[:NODES_MAX], len(rows) - NODES_MAX
    more = f"<p>and {counted(left, 'node')} more</p>" if left > 0 else ""
    legend = "".join(_entry(gang, colours[gang.name], tree.levels[tree.lowest - 1].name) for gang in gangs)
    boxes = _boxes(shown, place, 0, colours)
    return (
        f'<section class="tree"><h2>Who was where in the tree</h2><p>{note}</p><ul class="legend">{legend}</ul>'
        f'<div class="domains">{boxes}</div>{more}</section>\n'
    )


def _path(tree: Tree, row: int) -> tuple[str, ...]:
    """Return the domain of a node at each level above it; empty where it is in none."""
    domains = (int(tree.of_node[level][row]) for level in range(tree.lowest))
    return tuple(tree.names[level][domain] if domain >= 0 else "" for level, domain in enumerate(domains))


def _spreads(rows: Sequence[Row], place: Mapping[str, tuple[str, ...]]) -> list[_Spread]:
    """Return the gangs of several pods that hold most."""
    pods, held, domains = Counter[str](), Counter[str](), dict[str, set[tuple[str, ...]]]()
    for row in rows:
        for pod in row.held:
            pods[pod.gang] += 1
            held[pod.gang] += pod.devices
            domains.setdefault(pod.gang, set()).add(place[row.node])
    several = sorted((name for name in pods if pods[name] > 1), key=lambda name: (-held[name], name))
    return [_Spread(name, pods[name], held[name], len(domains[name])) for name in several[:GANGS_MAX]]


def _entry(gang: _Spread, colour: str, level: str) -> str:
    text = f"{short(gang.name)}: {counted(gang.pods, 'pod')} in {counted(gang.domains, level)}"
    return f'<li><i class="box" style="--own:{colour}"></i>{escape(text)}</li>'


def _boxes(
    rows: Sequence[Row], place: Mapping[str, tuple[str, ...]], level: int, colours: Mapping[str, str]
) -> str:  # fmt: skip
    """Return the domains of a level, each with those inside it, or the nodes below all levels."""
    if not rows or level == len(place[rows[0].node]):
        return f'<div class="nodes">{"".join(_node(row, colours) for row in rows)}</div>'
    parts = []
    for name, inside in groupby(rows, key=lambda row: place[row.node][level]):
        title = f"<b>{escape(name)}</b>" if name else "<b>in none</b>"
        parts.append(f'<div class="domain">{title}{_boxes(list(inside), place, level + 1, colours)}</div>')
    return "".join(parts)


def _node(row: Row, colours: Mapping[str, str]) -> str:
    if not row.ready:
        return f'<span class="node down" title="{escape(row.node)}: down"></span>'
    cells = "".join(
        f'<i title="{escape(row.node)}: {escape(short(pod.gang))}" '
        f'style="flex:{pod.devices};--own:{colours.get(pod.gang, "var(--c6)")}"></i>'
        for pod in row.held
    )
    free = f'<i class="free" style="flex:{row.free}"></i>' if row.free > 0 else ""
    return f'<span class="node" title="{escape(row.node)}" style="--size:{max(row.devices, 1)}">{cells}{free}</span>'

"""Read a trace: from what the user named to a scenario."""

from dataclasses import dataclass, field
from pathlib import Path

from phalanx.model.axis import GPU
from phalanx.model.quantity import shown
from phalanx.sim.lines import NodeLine, Scenario
from phalanx.sim.network import Network, speeds
from phalanx.sim.traces.draw import Draw, draw
from phalanx.sim.traces.formats import format_of
from phalanx.sim.traces.job import Job
from phalanx.sim.traces.lay_out import scenario_of
from phalanx.sim.traces.nodes import nodes_of
from phalanx.sim.traces.public import files_of
from phalanx.sim.traces.rows import TraceError, open_rows


@dataclass(frozen=True, slots=True)
class TraceWish:
    """A trace that is to run."""

    #: A file, or the name of a public trace.
    trace: str
    #: `80x8`, `40x8:V100`, or a file; None: those of the public trace.
    nodes: str | None = None
    #: Where the public traces are.
    data: Path = field(default_factory=Path)
    drawn: Draw = field(default_factory=Draw)
    #: How fast gangs talk; None: as if it took no time.
    network: str | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """The jobs and nodes of a trace, read once however often they are drawn."""

    source: str
    jobs: tuple[Job, ...]
    nodes: tuple[NodeLine, ...]
    drawn: Draw
    network: Network | None = None

    @property
    def milli(self) -> int:
        """Return the thousandths of GPUs that the nodes have."""
        return sum(int(node.amounts.get(GPU, "0")) for node in self.nodes) * 1000

    def scenario(self, seed: int) -> Scenario:
        """Return the scenario that a seed draws."""
        return scenario_of(self.source, draw(self.jobs, self.drawn, seed, self.milli), self.nodes, self.network)


def read_trace(wish: TraceWish) -> Trace:
    """Read a trace and its nodes, or raise a TraceError."""
    public = files_of(wish.trace, wish.data)
    path, nodes = public or (wish.trace, None)
    if wish.nodes is None and nodes is None:
        raise TraceError("--nodes: missing, allowed is COUNTxGPUS, such as 80x8 or 40x8:V100, or a CSV file of nodes")
    try:
        network = None if wish.network is None else speeds(wish.network)
    except ValueError as error:
        raise TraceError(f"--network: found {shown(wish.network)}, {error}") from None
    rows = open_rows(path)
    jobs = format_of(rows).read(rows)
    if not jobs:
        raise TraceError(f"{path}: found no job below the first row, allowed is one job a row")
    return Trace(wish.trace, tuple(jobs), tuple(nodes_of(wish.nodes or nodes or "")), wish.drawn, network)

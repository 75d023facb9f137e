"""`phalanx simulate`: run a workload over time on a pretend cluster, and report what it was worth."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter


def register(app: App) -> None:
    """Add the command."""
    app.command(simulate)


def simulate(
    scenario: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    /,
    *,
    trace: str | None = None,
    nodes: str | None = None,
    data: Path = Path(),
    window: str | None = None,
    sample: float = 1.0,
    load: float | None = None,
    shuffle: Annotated[bool, Parameter(negative=())] = False,
    inflate: float | None = None,
    endless: Annotated[bool, Parameter(negative=())] = False,
    network: str | None = None,
    policy: Annotated[tuple[str, ...], Parameter(negative=(), show_default=", ".join)] = ("default",),
    seed: int = 0,
    until: str | None = None,
    interval: str = "1s",
    html: Path | None = None,
    memory: Path | None = None,
    by: str | None = None,
    output: Annotated[Literal["text", "json"], Parameter(name=["--output", "-o"])] = "text",
) -> int:
    """Run a workload over time on a pretend cluster, and report what it was worth.

    The same engine decides as on a real cluster; only the clock is virtual. Ctrl-C prints the report so far.

    Parameters
    ----------
    scenario
        A scenario file (see docs/scenario.md), - for standard input, or Kubernetes manifests: a .yaml or .json
        file or a directory of them.
    trace
        Instead of a scenario: a trace, as a CSV file, plain or gzip (see docs/traces.md), or openb, philly, kalos.
    nodes
        What a trace runs on: 80x8 (nodes x GPUs), 40x8:V100, or a CSV file. The public traces know theirs.
    data
        The folder in which the public traces are.
    window
        Of a trace: the jobs that arrive in this stretch of it alone, such as 10d..12d.
    sample
        Of a trace: this part of its jobs, such as 0.5, drawn by the seed.
    load
        Of a trace: move its arrivals together or apart until the work offered is so many times what its GPUs can do.
    shuffle
        Of a trace: in random order, drawn by the seed, one job a second.
    inflate
        Of a trace: shuffle, then draw jobs again until they ask for so many times the GPUs.
    endless
        Of a trace: nothing ends.
    network
        Of a trace: work takes longer where gangs talk over slower levels, in bytes a second, such as
        node:400Gi,rack:50Gi,beyond:12Gi.
    policy
        The name of a preset, or a policy file. Given several times: the same workload under each of them, side by
        side in one report.
    seed
        Decides what a scenario leaves to chance, such as runtime=1h±10%.
    until
        Stop at this virtual time, such as 90m or 2d. Default: when nothing more can happen.
    interval
        The least virtual time from one cycle to the next. A longer one makes long runs faster.
    html
        Write the report with plots to this file too: one page that needs nothing else.
    memory
        What the queues used in the past: read from this file if it is there, written to it in the end. For policies
        whose share has a memory.
    by
        Compare classes of work too: queue, priority or label:KEY. Default with several policies: queue.
    output
        text for people; json for programs.
    """
    # Arrays and the engine are loaded only now: `phalanx --help` does without.
    from phalanx.cli import drawn as traces  # noqa: PLC0415
    from phalanx.cli import simulating  # noqa: PLC0415

    drawn = traces.Drawn(trace, nodes, data, window, sample, load, shuffle, inflate, endless, network)
    return simulating.run(simulating.Wish(scenario, policy, seed, until, interval, output, html, memory, by, drawn))

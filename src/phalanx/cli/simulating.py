"""What `phalanx simulate` does: read, run, report; with a progress bar, and a report when interrupted."""

import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from phalanx.cli.comparison_text import comparison_text
from phalanx.cli.drawn import Drawn, trace_wish
from phalanx.cli.output import Mistake, complain, safe
from phalanx.cli.report_text import report_text
from phalanx.cli.simulated_input import Workload
from phalanx.engine.policy import Policy
from phalanx.model.quantity import shown
from phalanx.policy.load import PolicyError, load_policy
from phalanx.sim.classes import classifier
from phalanx.sim.comparison import Comparison, compared, run_names
from phalanx.sim.duration import seconds, written
from phalanx.sim.html_comparison import html_comparison
from phalanx.sim.html_report import POINTS, html_report
from phalanx.sim.html_tree import Busiest, tree_html
from phalanx.sim.memory import MemoryFileError, read_memory, write_memory
from phalanx.sim.report import Report, report
from phalanx.sim.simulator import FOREVER, Simulator
from phalanx.sim.timeline import Timeline

_INTERRUPTED = 130
#: A bar that flashes up for a moment tells nobody anything.
_BAR_AFTER_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user asked for."""

    scenario: str | None
    policies: tuple[str, ...]
    seed: int
    until: str | None
    interval: str
    output: str
    html: Path | None = None
    memory: Path | None = None
    #: What a class of work is; None: classes are compared only where policies are.
    by: str | None = None
    drawn: Drawn = field(default_factory=Drawn)

    @property
    def source(self) -> str:
        """Return what it reads, as the report names it."""
        return self.scenario or self.drawn.trace or ""


def run(wish: Wish) -> int:
    """Run a simulation, or several, and print the report; return the exit status."""
    until = FOREVER if wish.until is None else _duration("--until", wish.until)
    interval = _duration("--interval", wish.interval)
    for option, path in (("--html", wish.html), ("--memory", wish.memory)):
        _writable(option, path)
    try:
        policies = [load_policy(policy) for policy in wish.policies]
    except PolicyError as error:
        raise Mistake(str(error)) from None
    if wish.by is not None:
        try:
            classifier(wish.by)
        except ValueError as error:
            raise Mistake(f"simulate: --by: {error}") from None
    several = len(policies) > 1 or wish.by is not None
    if several and wish.memory is not None:
        raise Mistake("simulate: --memory: found --by or several policies beside it, allowed is one policy alone")
    workload = Workload(wish.source, wish.seed, trace_wish(wish.scenario, wish.drawn))
    return (_compare if several else _one)(wish, policies, workload, until, interval)


def _one(wish: Wish, policies: list[Policy], workload: Workload, until: float, interval: float) -> int:
    """Run under one policy."""
    laid_out = workload.for_schedulers(policies[0].ours)
    simulator = Simulator(laid_out, policies[0], wish.seed, interval)
    if wish.memory is not None:
        with _told():
            read_memory(simulator.world, wish.memory)
    busiest = Busiest()
    with _interruptible() as interrupted, _progress(simulator, laid_out, until) as advance:
        for moment in simulator.run(until):
            advance(len(moment.happenings))
            if wish.html is not None:
                busiest.look(simulator)
            if interrupted():
                break
    found = report(simulator, interrupted=interrupted())
    _keep(wish, simulator, found, busiest)
    if wish.output == "json":
        print(json.dumps({"scenario": wish.source, **found.json()}, indent=2, ensure_ascii=False))
    else:
        print(report_text(wish.source, found), end="")
    if found.interrupted:
        complain(f"simulate: interrupted at {written(found.end)} of virtual time; the report is of what ran until then")
        return _INTERRUPTED
    return 0


def _compare(wish: Wish, policies: list[Policy], workload: Workload, until: float, interval: float) -> int:
    """Run under each policy, one after the other, and report on all of them together."""
    by, names, runs = wish.by or "queue", run_names(wish.policies), []
    with _interruptible() as interrupted:
        for number, (name, policy) in enumerate(zip(names, policies, strict=True), start=1):
            laid_out = workload.for_schedulers(policy.ours)
            simulator = Simulator(laid_out, policy, wish.seed, interval)
            which = f" {escape(safe(name))} ({number} of {len(policies)})"
            with _progress(simulator, laid_out, until, which) as advance:
                for moment in simulator.run(until):
                    advance(len(moment.happenings))
                    if interrupted():
                        break
            runs.append(compared(name, simulator, by, interrupted=interrupted()))
            if interrupted():
                break
    found = Comparison(wish.source, by, tuple(runs))
    if wish.html is not None:
        _write(wish.html, html_comparison(found))
    if wish.output == "json":
        print(json.dumps(found.json(), indent=2, ensure_ascii=False))
    else:
        print(comparison_text(found), end="")
    if found.interrupted:
        at = f"{safe(runs[-1].name)}, at {written(runs[-1].report.end)} of virtual time"
        complain(f"simulate: interrupted in run {len(runs)} of {len(policies)}, {at}; that run is not comparable")
        return _INTERRUPTED
    return 0


def _writable(option: str, path: Path | None) -> None:
    """Refuse a place where no file can be, before a long run and not after it."""
    if path is not None and (path.is_dir() or not path.parent.is_dir()):
        why = "which is a directory" if path.is_dir() else "in a directory that does not exist"
        raise Mistake(f"simulate: {option}: found {shown(str(path))}, {why}, allowed is a file")


def _keep(wish: Wish, simulator: Simulator, found: Report, busiest: Busiest) -> None:
    """Write the files that were asked for."""
    if wish.memory is not None:
        with _told():
            write_memory(simulator.world, wish.memory, simulator.now)
    if wish.html is not None:
        fine = report(simulator, interrupted=found.interrupted, points=POINTS)
        _write(wish.html, html_report(wish.source, fine, tree_html(busiest, simulator)))


def _write(path: Path, page: str) -> None:
    try:
        path.write_text(page, "utf-8")
    except OSError as error:
        raise Mistake(f"simulate: --html: {path}: {(error.strerror or str(error)).lower()}") from None


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except MemoryFileError as error:
        raise Mistake(f"simulate: --memory: {error}") from None


def _duration(option: str, text: str) -> float:
    try:
        return seconds(text)
    except ValueError as error:
        raise Mistake(f"simulate: {option}: found {shown(text)}, {error}") from None


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Let the first Ctrl-C end the run between two instants, where its books are right; the second ends all."""
    pressed: list[int] = []

    def press(number: int, _: object) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(number)

    before = signal.signal(signal.SIGINT, press)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _progress(
    simulator: Simulator, laid_out: Timeline, until: float, which: str = ""
) -> Iterator[Callable[[int], None]]:
    """Show on a terminal how far a long run is: through its time, or through what is known to happen."""
    console = Console(stderr=True)
    total = until if until < FOREVER else len(laid_out.happenings) + len(laid_out.runtimes)
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.0f}%"),
        console=console, transient=True, disable=not console.is_terminal,
    )  # fmt: skip
    begun, task, happened = time.monotonic(), TaskID(0), 0

    def advance(count: int) -> None:
        nonlocal task, happened
        happened += count
        if time.monotonic() - begun < _BAR_AFTER_SECONDS or bar.disable:
            return
        if not bar.tasks:
            task = bar.add_task(f"simulating{which}", total=total)
            bar.start()
        done = simulator.now if until < FOREVER else happened
        bar.update(task, completed=done, description=f"simulating{which}, at {written(simulator.now)}")

    try:
        yield advance
    finally:
        bar.stop()

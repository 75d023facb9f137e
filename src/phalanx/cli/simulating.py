"""What `phalanx simulate` does: read, run, report; with a progress bar, and a report when interrupted."""

import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from phalanx.cli.output import Mistake, complain
from phalanx.cli.report_text import report_text
from phalanx.model.quantity import shown
from phalanx.policy.load import PolicyError, load_policy
from phalanx.sim.duration import seconds, written
from phalanx.sim.from_manifests import MANIFEST_SUFFIXES, timeline_of_manifests
from phalanx.sim.html_report import POINTS, html_report
from phalanx.sim.lines import ScenarioError
from phalanx.sim.memory import MemoryFileError, read_memory, write_memory
from phalanx.sim.report import Report, report
from phalanx.sim.scenario import read_scenario
from phalanx.sim.simulator import FOREVER, Simulator
from phalanx.sim.timeline import Timeline, timeline

_INTERRUPTED = 130
#: A bar that flashes up for a moment tells nobody anything.
_BAR_AFTER_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user asked for."""

    scenario: str
    policy: str
    seed: int
    until: str | None
    interval: str
    output: str
    html: Path | None = None
    memory: Path | None = None


def run(wish: Wish) -> int:
    """Run a simulation and print its report; return the exit status."""
    until = FOREVER if wish.until is None else _duration("--until", wish.until)
    interval = _duration("--interval", wish.interval)
    for option, path in (("--html", wish.html), ("--memory", wish.memory)):
        _writable(option, path)
    try:
        policy = load_policy(wish.policy)
    except PolicyError as error:
        raise Mistake(str(error)) from None
    laid_out = _timeline(wish, policy.scheduler_names)
    if not laid_out.nodes:
        raise Mistake(f"{wish.scenario}: nothing to simulate: there is no node")
    if not laid_out.happenings:
        raise Mistake(f"{wish.scenario}: nothing to simulate: there is no gang and no pod")
    simulator = Simulator(laid_out, policy, wish.seed, interval)
    if wish.memory is not None:
        with _told():
            read_memory(simulator.world, wish.memory)
    with _interruptible() as interrupted, _progress(simulator, laid_out, until) as advance:
        for moment in simulator.run(until):
            advance(len(moment.happenings))
            if interrupted():
                break
    found = report(simulator, interrupted=interrupted())
    _keep(wish, simulator, found)
    if wish.output == "json":
        print(json.dumps({"scenario": wish.scenario, **found.json()}, indent=2, ensure_ascii=False))
    else:
        print(report_text(wish.scenario, found), end="")
    if found.interrupted:
        complain(f"simulate: interrupted at {written(found.end)} of virtual time; the report is of what ran until then")
        return _INTERRUPTED
    return 0


def _writable(option: str, path: Path | None) -> None:
    """Refuse a place where no file can be, before a long run and not after it."""
    if path is not None and (path.is_dir() or not path.parent.is_dir()):
        why = "which is a directory" if path.is_dir() else "in a directory that does not exist"
        raise Mistake(f"simulate: {option}: found {shown(str(path))}, {why}, allowed is a file")


def _keep(wish: Wish, simulator: Simulator, found: Report) -> None:
    """Write the files that were asked for."""
    if wish.memory is not None:
        with _told():
            write_memory(simulator.world, wish.memory, simulator.now)
    if wish.html is not None:
        fine = report(simulator, interrupted=found.interrupted, points=POINTS)
        try:
            wish.html.write_text(html_report(wish.scenario, fine), "utf-8")
        except OSError as error:
            raise Mistake(f"simulate: --html: {wish.html}: {(error.strerror or str(error)).lower()}") from None


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


def _timeline(wish: Wish, schedulers: tuple[str, ...]) -> Timeline:
    """Read whatever the user named."""
    path = Path(wish.scenario)
    if wish.scenario.endswith(MANIFEST_SUFFIXES) or path.is_dir():
        laid_out, problems = timeline_of_manifests(wish.scenario, schedulers)
        complain("\n".join(problems))
        return laid_out
    try:
        text = sys.stdin.read() if wish.scenario == "-" else path.read_text("utf-8")
        return timeline(read_scenario(text, wish.scenario), wish.seed, schedulers)
    except OSError as error:
        raise Mistake(f"{wish.scenario}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise Mistake(f"{wish.scenario}: not UTF-8 text, allowed is a scenario (see docs/scenario.md)") from None
    except ScenarioError as error:
        raise Mistake(str(error)) from None


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
def _progress(simulator: Simulator, laid_out: Timeline, until: float) -> Iterator[Callable[[int], None]]:
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
            task = bar.add_task("simulating", total=total)
            bar.start()
        done = simulator.now if until < FOREVER else happened
        bar.update(task, completed=done, description=f"simulating, at {written(simulator.now)}")

    try:
        yield advance
    finally:
        bar.stop()

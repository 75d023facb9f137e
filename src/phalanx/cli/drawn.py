"""What `phalanx simulate` was told of a trace, checked: each option that is wrong is named."""

from dataclasses import dataclass, field
from pathlib import Path

from phalanx.cli.output import Mistake
from phalanx.model.quantity import shown
from phalanx.sim.duration import seconds
from phalanx.sim.traces.draw import Draw
from phalanx.sim.traces.read import TraceWish


@dataclass(frozen=True, slots=True)
class Drawn:
    """The options as they were given."""

    trace: str | None = None
    nodes: str | None = None
    data: Path = field(default_factory=Path)
    window: str | None = None
    sample: float = 1.0
    load: float | None = None
    shuffle: bool = False
    inflate: float | None = None
    endless: bool = False
    network: str | None = None


def trace_wish(scenario: str | None, given: Drawn) -> TraceWish | None:
    """Return the trace that is meant; None: it is a scenario."""
    if given.trace is None:
        beside = [
            name for name in Drawn.__dataclass_fields__ if name != "data" and getattr(given, name) != _default(name)
        ]
        if beside:
            raise Mistake(f"simulate: --{beside[0]}: found without --trace, allowed is beside it")
        if scenario is None:
            raise Mistake("simulate: found neither a scenario nor --trace, allowed is one of them")
        return None
    if scenario is not None:
        raise Mistake(f"simulate: --trace: found beside the scenario {shown(scenario)}, allowed is one of them")
    if not 0 < given.sample <= 1:
        raise Mistake(f"simulate: --sample: found {given.sample:g}, allowed is above 0 and at most 1")
    for name in ("load", "inflate"):
        value = getattr(given, name)
        if value is not None and not 0 < value <= 100:
            raise Mistake(f"simulate: --{name}: found {value:g}, allowed is above 0 and at most 100")
    drawn = Draw(_window(given.window), given.sample, given.load, given.shuffle, given.inflate, given.endless)
    return TraceWish(given.trace, given.nodes, given.data, drawn, given.network)


def _default(name: str) -> object:
    return Drawn.__dataclass_fields__[name].default


def _window(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    first, dots, last = text.partition("..")
    try:
        window = seconds(first), seconds(last)
    except ValueError:
        window = 0.0, 0.0
    if not dots or window[0] >= window[1]:
        raise Mistake(f"simulate: --window: found {shown(text)}, allowed is two rising durations, such as 10d..12d")
    return window

"""How a run ended, in a few sentences. Every word of them comes from what the simulator did."""

from collections import Counter
from collections.abc import Sequence

from phalanx.sim.cluster import End
from phalanx.sim.duration import written
from phalanx.sim.life import Life
from phalanx.sim.picture import Row, family
from phalanx.sim.report import report
from phalanx.sim.simulator import Simulator
from phalanx.sim.stories import Frame
from phalanx.sim.telling import devices, gathered, many, short
from phalanx.sim.timeline import Scale


def ending(simulator: Simulator, frames: Sequence[Frame]) -> list[str]:
    """Return what became of each gang, in the order in which they started."""
    lives = simulator.lives
    if not any(life.started is not None for life in lives):
        return [_nothing(simulator, frames[-1].rows)]
    groups: dict[tuple[float, str], list[Life]] = {}
    for life in lives:
        start = float("inf") if life.started is None else life.started
        groups.setdefault((start, family(life.name)), []).append(life)
    sentences = [_group(simulator, frames, groups[key]) for key in sorted(groups)]
    for frame in frames:
        for one in frame.moment.happenings:
            if isinstance(one, Scale):
                sentences.append(f"Scaled to {one.members}: {_where(frame.rows, {one.gang})}.")
    return sentences


def first_to_start(simulator: Simulator) -> str:
    """Return which of several gangs started first: the older or the younger one."""
    lives = sorted((life for life in simulator.lives if life.started is not None), key=lambda life: life.started or 0)
    if not lives:
        return "no one starts"
    oldest = min(life.created for life in simulator.lives)
    return f"the {'older' if lives[0].created == oldest else 'younger'} one starts first"


def _nothing(simulator: Simulator, rows: Sequence[Row]) -> str:
    use = report(simulator).device
    held: Counter[str] = Counter()
    for row in rows:
        for pod in row.held:
            held[short(pod.gang)] += pod.devices
    holding = " and ".join(f"{gang} holds {amount}" for gang, amount in held.items())
    count = len(simulator.lives)
    who = {1: "the gang is not", 2: "neither gang is"}.get(count, f"none of {count} gangs is")
    what = devices(use.resource)
    return (
        f"{holding} {what}: {who} whole, nothing ever starts; "
        f"{use.held_at_end:g} of {use.capacity} {what} held, {use.working_at_end:g} working."
    )


def _group(simulator: Simulator, frames: Sequence[Frame], lives: list[Life]) -> str:
    """Say when gangs of one kind started, where, and what they waited for."""
    names = gathered(short(life.name) for life in lives)
    verb = "start" if many(names) else "starts"
    one = lives[0]
    if one.started is None:
        return f"{names} never {verb}: {one.reason}."
    frame = next(frame for frame in frames if frame.moment.now == one.started)
    where = _where(frame.rows, {life.name for life in lives})
    pods = sum(pod.gang == one.name for row in frame.rows for pod in row.held)
    whole = " whole" if pods > 1 else ""
    begins = f"{verb}{whole} at {written(one.started)} ({where})"
    waited = one.started - one.complete if one.complete is not None else 0.0
    lack = next((frame.lacks[one.name] for frame in frames if one.name in frame.lacks), None)
    if not waited or lack is None:
        return f"{names} {begins}."
    what = devices(simulator.cluster.meter.device)
    free = f"{sum(lack.free.values())} free"
    if len(lack.free) > 1:
        free += f": {', '.join(f'{amount} on {node}' for node, amount in lack.free.items())}"
    ended = gathered(short(one.life.partition("/")[2]) for one in frame.moment.happenings if isinstance(one, End))
    cause = f", when {ended} {'end' if many(ended) else 'ends'}" if ended else ""
    wait = "wait" if many(names) else "waits"
    return f"{names} {wait} {written(waited)} ({lack.needed} {what} needed, {free}) and {begins}{cause}."


def _where(rows: Sequence[Row], gangs: set[str]) -> str:
    """Return how many pods of some gangs are on which node."""
    counts = {row.node: count for row in rows if (count := sum(pod.gang in gangs for pod in row.held))}
    if sum(counts.values()) == 1:
        return f"on {next(iter(counts))}"
    return ", ".join(f"{count} on {node}" for node, count in counts.items())

"""Where the two outcomes of a case differ, and why; and the file with Volcano's outcomes that CI compares with."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.volcano_outcomes import ours
from tests.volcano_outcomes.cases import Case, case
from tests.volcano_outcomes.deserved import beyond

RECORDED = Path(__file__).with_name("recorded.json")

NOT_LET_IN = "it is not let in there: groups that are let in and fit nowhere count as if they ran"
BOUNDED = (
    "it is let in there, but its queue gets no more: what others deserve is kept, also for groups that fit nowhere"
)
TAKEN = "its room has gone to a group that waits there"
PLACES = "other pods lie on other nodes, or queues had their turns otherwise"


@dataclass(frozen=True)
class Theirs:
    """What Volcano's scheduler made of a case."""

    #: How many pods of each group have nodes in the end; who has none is left out.
    running: Mapping[str, int]
    #: The groups that it has not let in.
    outside: Sequence[str]


@dataclass(frozen=True)
class Difference:
    """A group of which another number of pods runs."""

    group: str
    theirs: int
    ours: int
    why: str

    def __str__(self) -> str:
        return f"{self.group}: {self.theirs} pods run there, {self.ours} here: {self.why}"


def differences(case: Case, theirs: Theirs, here: Mapping[str, int]) -> list[Difference]:
    """Return the groups that differ."""
    names = [group[0]["metadata"]["name"] for group in case.groups]
    counts = {name: (theirs.running.get(name, 0), here.get(name, 0)) for name in names}
    more = any(there < own for there, own in counts.values())
    found = []
    for name, (there, own) in counts.items():
        if there < own and name in theirs.outside:
            why = NOT_LET_IN
        elif there < own and beyond(case, theirs.running, name):
            why = BOUNDED
        else:
            why = TAKEN if own < there and more else PLACES
        if there != own:
            found.append(Difference(name, there, own, why))
    return found


def startable(case: Case, here: ours.Outcome) -> list[str]:
    """Return the groups that wait here although their minimum would fit: there must be none.

    Pods of a group are equal, so how many fit is a sum over the nodes.
    """
    used = Counter[str]()
    for name, count in here.running.items():
        group = next(group for group in case.groups if group[0]["metadata"]["name"] == name)
        used[group[0]["spec"]["queue"]] += count * ours.asks(group)["cpu"]
    bounds = {queue["metadata"]["name"]: queue["spec"].get("capability") for queue in case.queues}
    found = []
    for group in case.groups:
        name, spec, asks = group[0]["metadata"]["name"], group[0]["spec"], ours.asks(group)
        if name in here.running:
            continue
        fits = sum(min(free.get(key, 0) // amount for key, amount in asks.items()) for free in here.free.values())
        bound = bounds[spec["queue"]]
        within = bound is None or used[spec["queue"]] + spec["minMember"] * asks["cpu"] <= int(bound["cpu"])
        if fits >= spec["minMember"] and within:
            found.append(name)
    return found


def summary(found: Mapping[int, Theirs]) -> Iterator[str]:
    """Yield what came out over all clusters."""
    here = {seed: ours.outcome(case(seed)) for seed in found}
    differ = {seed: differences(case(seed), there, here[seed].running) for seed, there in found.items()}
    total = [(sum(there.running.values()), sum(here[seed].running.values())) for seed, there in found.items()]
    yield f"{len(found)} clusters: {sum(not one for one in differ.values())} with the same outcome"
    yield f"pods that run: {sum(there for there, _ in total)} there, {sum(own for _, own in total)} here"
    yield f"clusters with fewer pods here: {sum(own < there for there, own in total)}"
    for why, count in Counter(one.why for many in differ.values() for one in many).most_common():
        yield f"{count} groups: {why}"


def recorded() -> dict[int, Theirs]:
    """Return what Volcano made of the recorded cases."""
    return {int(seed): Theirs(**one) for seed, one in json.loads(RECORDED.read_text("utf-8")).items()}


def record(found: Mapping[int, Theirs]) -> None:
    """Write down Volcano's outcomes."""
    RECORDED.write_text(json.dumps({str(seed): asdict(one) for seed, one in found.items()}) + "\n", "utf-8")

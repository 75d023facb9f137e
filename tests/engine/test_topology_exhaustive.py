"""On small trees every way is tried: where there is one, a place is found, and it is as close as is documented."""

from collections import defaultdict
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from phalanx.model.plan import Bind
from phalanx.testing.policies import policy_with
from phalanx.testing.scenario import plan
from tests.oracles.domains import Member, Place, Problem, fewest, keeps, ways

#: Enough for every way on so small a tree.
POLICY = policy_with("node_ready", "exclusive_domains", "resource_fit", "gang")
LEVELS = ("zone", "rack")


@st.composite
def places(draw: st.DrawFn, *, whole: bool = False) -> list[Place]:
    """At most twelve nodes in at most two zones, of at most three racks each. Some are in no rack, unless `whole`."""
    found = list[Place]()
    for _ in range(draw(st.integers(1, 12))):
        zone, rack = draw(st.sampled_from(["a", "b"])), draw(st.sampled_from(["1", "2", "3"]))
        domains = {"zone": zone, "rack": f"{zone}/{rack}"}
        if not whole and draw(st.integers(0, 9)) == 0:
            del domains["rack"]
        domains["node"] = str(len(found))
        found.append(Place(draw(st.sampled_from([1, 2, 3, 4, 8])), domains))
    return found


@st.composite
def problems(draw: st.DrawFn, *, several: bool) -> Problem:
    """A gang of one shape, or (`several`) of several shapes and subgroups."""
    required = {}
    level = draw(st.sampled_from([None, *LEVELS]))
    if level is not None:
        required[""] = level
    if not several:
        members = [Member(draw(st.integers(1, 4)))] * draw(st.integers(1, 9))
        return Problem(draw(places(whole=draw(st.booleans()))), members, required)
    members = list[Member]()
    for part in draw(st.lists(st.sampled_from(["one", "two", "three"]), min_size=1, max_size=3, unique=True)):
        level = draw(st.sampled_from([None, *LEVELS]))
        if level is not None:
            required[part] = level
        for gpus in draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)):
            members.append(Member(gpus, part))
    return Problem(draw(places()), members, required)


@st.composite
def segmented(draw: st.DrawFn, *, parts: bool) -> Problem:
    """A gang of one shape in segments; or (`parts`) subgroups of several in segments, each as it likes."""
    required, members = dict[str, str](), list[Member]()
    level = draw(st.sampled_from([None, None, *LEVELS]))
    if level is not None:
        required[""] = level
    for part in draw(st.lists(st.sampled_from(["one", "two"]), min_size=1, max_size=2, unique=True)) if parts else [""]:
        size, level = draw(st.integers(1, 4)), draw(st.sampled_from([*LEVELS, "node"]))
        shapes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=2 if parts else 1))
        for at in range(draw(st.integers(1, 4 if parts else 10))):
            name = f"{part}#{size}#{at // size}"
            required[name] = level
            members.append(Member(draw(st.sampled_from(shapes)), part, name))
    return Problem(draw(places(whole=draw(st.booleans()))), members, required)


@st.composite
def exclusive(draw: st.DrawFn) -> Problem:
    """A gang, or its subgroups, with domains of their own, among pods and gangs that have theirs."""
    around = [replace(one, guest=draw(st.sampled_from(["", "", "", "", "pod", "owner"]))) for one in draw(places())]
    parts = draw(st.lists(st.sampled_from(["one", "two", "three"]), min_size=1, max_size=3, unique=True))
    members = [
        Member(gpus, part) for part in parts for gpus in draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    ]
    alone = {part: draw(st.sampled_from([*LEVELS, "node"])) for part in parts if draw(st.booleans())}
    if draw(st.booleans()):
        alone[""] = draw(st.sampled_from(LEVELS))
    # Who is alone is in one domain, unless it says otherwise.
    required = dict(alone)
    if "" in alone and draw(st.booleans()):
        required[""] = "zone"
    return Problem(around, members, required, alone)


def scenario(problem: Problem, preferred: str = "") -> str:
    """Write a problem down."""
    lines = []
    for at, place in enumerate(problem.places):
        if place.guest:
            alone = " topology-exclusive=rack" if place.guest == "owner" else ""
            lines.append(f"gang x{at:02} members=1 gpu=1 on=n{at:02}{alone}")
        labels = (
            f" label:topology.kubernetes.io/{key}={name[-1]}" for key, name in place.domains.items() if key in LEVELS
        )
        lines.append(f"node n{at:02} gpu={place.gpus}{''.join(labels)}")
    wish = f" topology-required={problem.required['']}" if "" in problem.required else ""
    wish += f" topology-preferred={preferred}" if preferred else ""
    wish += f" topology-exclusive={problem.exclusive['']}" if "" in problem.exclusive else ""
    for member in problem.members:
        name, own = member.subgroup, sum(one.subgroup == member.subgroup for one in problem.members)
        part = f" subgroup={name} subgroup-minimum={own}" if name else ""
        part += f" subgroup-topology-required={problem.required[name]}" if name and name in problem.required else ""
        part += f" subgroup-topology-exclusive={problem.exclusive[name]}" if name and name in problem.exclusive else ""
        if member.segment:
            size, of = member.segment.split("#")[1], "subgroup-segment" if name else "segment"
            part += f" {of}-size={size} {of}-topology={problem.required[member.segment]}"
        lines.append(f"gang g members=1 minimum={len(problem.members)} gpu={member.gpus}{wish}{part}")
    return "\n".join(lines)


def placed(problem: Problem, preferred: str = "") -> list[int] | None:
    """Return the place of each member; None: the gang waits."""
    steps = plan(scenario(problem, preferred), POLICY).steps
    binds = {step.task: int(step.node.removeprefix("n")) for step in steps if isinstance(step, Bind)}
    assert len(binds) in {0, len(problem.members)}
    numbers = defaultdict[str, int](int)
    found = list[int]()
    for member in problem.members if binds else ():
        stem = f"g-{member.subgroup}" if member.subgroup else "g"
        found.append(binds[f"default/{stem}-{numbers[stem]}"])
        numbers[stem] += 1
    return found or None


@settings(max_examples=150)
@given(problems(several=True))
def test_a_gang_of_parts_is_placed_whenever_there_is_a_way(problem: Problem) -> None:
    """That the places keep the wishes is asked of every plan (`engine/invariants.py`)."""
    assert (placed(problem) is not None) == (next(ways(problem), None) is not None)


@pytest.mark.parametrize("parts", [False, True])
@settings(max_examples=100)
@given(st.data())
def test_segments_are_placed_whenever_there_is_a_way(parts: bool, data: st.DataObject) -> None:
    """Whole ones of equal tasks by count; others, and those of several shapes, one by one."""
    problem = data.draw(segmented(parts=parts))
    found = placed(problem)
    assert (found is not None) == (next(ways(problem), None) is not None)
    assert found is None or keeps(problem, found)


@settings(max_examples=150)
@given(exclusive())
def test_domains_of_ones_own_are_found_whenever_there_is_a_way(problem: Problem) -> None:
    found = placed(problem)
    assert (found is not None) == (next(ways(problem), None) is not None)
    assert found is None or keeps(problem, found)


@settings(max_examples=150)
@given(problems(several=False))
def test_equal_tasks_are_placed_whenever_there_is_a_way(problem: Problem) -> None:
    assert (placed(problem) is not None) == (next(ways(problem), None) is not None)


@settings(max_examples=150)
@given(problems(several=False))
def test_equal_tasks_that_prefer_a_rack_are_in_as_few_as_can_be(problem: Problem) -> None:
    """One more than the fewest at most: a zone that holds all is preferred to two racks of different zones."""
    assume(all("rack" in place.domains for place in problem.places))
    where = placed(problem, "rack")
    if where is None:
        return
    racks = len({problem.places[at].domains["rack"] for at in where})
    best = fewest(problem, "rack")
    assert best is not None
    assert racks <= best + 1

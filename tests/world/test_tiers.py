"""The tree that objects make: who is in which domain of which tier, what does not fit, and what changes."""

from collections.abc import Mapping

import pytest

from phalanx.model.events import DomainGone, DomainSeen, Event, NodeSeen
from phalanx.model.node import Node
from phalanx.model.pattern import Pattern
from phalanx.model.reference import Reference
from phalanx.model.selectors import LabelSelector, Requirement
from phalanx.world.tiers import tiers
from phalanx.world.world import World

KIND = "Ring.x"


def ring(name: str, tier: int, *nodes: str, parts: str = "", called: str = "", **chosen: str) -> DomainSeen:
    """Return a domain; `matching` is a pattern, any other word a label that its nodes have."""
    choices = tuple(
        Pattern(value) if key == "matching" else LabelSelector((Requirement(key, "In", (value,)),))
        for key, value in chosen.items()
    )
    inner = tuple((part, f"parts[{at}]") for at, part in enumerate(parts.split()))
    return DomainSeen(Reference(KIND, name), f"tier-{tier}", nodes, name, choices, inner, tier, called)


def nodes(*names: str, **racks: str) -> dict[str, Node]:
    return {name: Node(name, labels={"rack": racks[name]} if name in racks else {}) for name in (*names, *racks)}


def resolved(*rings: DomainSeen, among: Mapping[str, Node]) -> tuple[dict[str, str], list[str]]:
    """Return per node its domains from the top, and what was left out."""
    found = tiers({one.object: one for one in rings}, among)
    lines = {name: " ".join(labels.values()) for name, labels in sorted(found.labels.items())}
    return lines, [str(one) for one in found.mistakes]


def test_members_by_name_by_pattern_and_by_label_and_domains_of_domains() -> None:
    given = nodes("n1", "n2", "n3", "alone", r1="b", r2="b")
    rings = [
        ring("s0", 1, "n1", "n9"), ring("s1", 1, matching="^n[23]$"), ring("s2", 1, rack="b"),
        ring("top", 3, parts="s0 s1 s2"),
    ]  # fmt: skip
    assert resolved(*rings, among=given) == (
        {"n1": "top s0", "n2": "top s1", "n3": "top s1", "n9": "top s0", "r1": "top s2", "r2": "top s2"}, [],
    )  # fmt: skip


def test_a_tier_that_is_left_out_on_the_way_up_counts_as_the_one_below_it() -> None:
    """`b` is in no domain of tier 2: of the domains up to tier 2 its largest is that of tier 1."""
    rings = [ring("a", 1, "n1"), ring("mid", 2, parts="a"), ring("b", 1, "n2"), ring("top", 3, "n3", parts="mid b")]
    assert resolved(*rings, among=nodes("n1", "n2", "n3"))[0] == {"n1": "top mid a", "n2": "top b b", "n3": "top"}


@pytest.mark.parametrize(
    ("rings", "said"),
    [
        ([ring("a", 1, parts="b"), ring("b", 1, parts="a")], [
            "a: parts[0]: found b of tier 1, allowed is a tier below 1: a > b > a is a circle",
            "b: parts[0]: found a of tier 1, allowed is a tier below 1: b > a > b is a circle"]),
        ([ring("a", 1, parts="a")], ["a: parts[0]: found a of tier 1, allowed is a tier below 1: a > a is a circle"]),
        ([ring("a", 3, parts="b"), ring("b", 2, parts="c"), ring("c", 1, parts="a")], [
            "c: parts[0]: found a of tier 3, allowed is a tier below 1: c > a > b > c is a circle"]),
        ([ring("a", 1, "n1"), ring("b", 2, "n2"), ring("c", 1, parts="b")], [
            "c: parts[0]: found b of tier 2, allowed is a tier below 1"]),
        ([ring("a", 1, "n1"), ring("b", 2, parts="a"), ring("c", 2, parts="a")], [
            "c: parts[0]: found a, which is part of b already"]),
        ([ring("a", 2, parts="nobody")], ["a: parts[0]: there is no Ring.x nobody"]),
        ([ring("a", 1, "n1", "n2"), ring("b", 1, matching="n")], [
            "b: spec.members: counted where they are already: n1 in a, n2 in a"]),
        ([ring("a", 1, "n1"), ring("b", 2, "n1"), ring("c", 3, "n2", "n1", parts="a b")], [
            "b: spec.members: counted where they are already: n1 in a"]),
        ([ring("a", 1, called="leaf"), ring("b", 2, called="leaf")], [
            "b: spec.tierName: found leaf, which is tier 1, not 2"]),
    ],
)  # fmt: skip
def test_what_does_not_fit_into_a_tree_is_named_in_a_line_and_the_rest_counts(
    rings: list[DomainSeen], said: list[str]
) -> None:
    lines, mistakes = resolved(*rings, ring("fine", 1, "n8"), ring("above", 4, parts="fine"), among=nodes("n1", "n2"))
    assert mistakes == [f"{KIND} {one}" for one in said]
    assert lines["n8"].split()[-1] == "fine"
    assert lines["n8"].split()[0] == "above"


def test_levels_have_the_names_of_their_tiers_and_are_the_tree_where_nodes_have_no_usual_labels() -> None:
    world = World()
    for event in (ring("a", 1, "n1", called="leaf"), ring("b", 1, called="switch"), ring("c", 2, parts="a b")):
        world.apply(event)
    world.apply(NodeSeen(Node("n1")))
    tree = world.compile(1.0).nodes.tree()
    assert [level.name for level in tree.levels] == ["Ring of tier 2", "leaf", "node"]
    assert tree.number["switch"] == tree.number["leaf"] == 1


def test_whatever_order_things_come_in_the_tree_is_the_same_and_follows_every_change() -> None:
    def where(world: World) -> list[str]:
        table = world.compile(1.0).nodes
        return [" ".join(labels.get(f"tier-{tier}", "-") for tier in (2, 1)) for labels in table.labels]

    events: list[Event] = [ring("a", 1, matching="^n"), ring("b", 1, rack="x"), ring("top", 2, parts="a b"),
              NodeSeen(Node("n1")), NodeSeen(Node("r1", labels={"rack": "x"}))]  # fmt: skip
    first, second = World(), World()
    for event in events:
        first.apply(event)
    for event in reversed(events):
        second.apply(event)
        second.compile(0.0)
    assert where(first) == where(second) == ["top a", "top b"]
    for world in (first, second):
        world.apply(NodeSeen(Node("n2")))
        assert where(world) == ["top a", "top a", "top b"]
        world.apply(NodeSeen(Node("r1", labels={"rack": "y"})))
        assert where(world) == ["top a", "top a", "- -"]
        world.apply(ring("a", 1, "n2"))
        assert where(world) == ["- -", "top a", "- -"]
        world.apply(DomainGone(Reference(KIND, "top"), "another"))
        assert where(world) == ["- -", "top a", "- -"]
        world.apply(DomainGone(Reference(KIND, "top")))
        assert where(world) == ["- -", "- a", "- -"]

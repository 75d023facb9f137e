"""What queues are entitled to: the worked examples of other schedulers, and what holds for any tree."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.engine.plugin import Share
from phalanx.engine.shares.quota_then_weight import QuotaThenWeight
from phalanx.engine.shares.weighted import Weighted
from phalanx.model.axis import Int
from phalanx.model.queue import Queue, Terms
from phalanx.model.queue_table import QueueTable
from phalanx.model.usage import Memory
from tests.oracles import division_oracle as oracle
from tests.oracles.queue_strategies import queue_tables, richer, taken_apart
from tests.oracles.queue_tables import Use, queue_table, queue_tree, whole

Division = QuotaThenWeight | Weighted
REMEMBERING = QuotaThenWeight(k=1.0, memory=Memory())
DIVISIONS: list[Division] = [QuotaThenWeight(), REMEMBERING, QuotaThenWeight(9.0, Memory()), Weighted()]
any_division = st.sampled_from(DIVISIONS)


def shares(
    text: str, total: float, share: Division = DIVISIONS[0], resource: str = "nvidia.com/gpu"
) -> dict[str, float]:
    """Return what each leaf gets, in whole units."""
    table = queue_tree(text, total, resource)
    got = whole(table, share.divide(table))
    return {name: got[name] for name in sorted(got) if table.leaf[table.row[name]]}


# Worked examples: KAI.


def test_kai_a_the_left_over_gpu_goes_where_the_remainder_is_larger() -> None:
    got = shares("q0 quota=1 weight=3 asks=2\nq1 quota=2 weight=1 asks=2.5", total=4)
    assert got == {"q0": 2, "q1": 2}


def test_kai_b_without_weight_a_queue_gets_its_quota_however_much_is_idle() -> None:
    assert shares("q quota=1 weight=0 asks=4", total=4) == {"q": 1}


def test_kai_c_two_equal_queues_get_one_gpu_each() -> None:
    got = shares("q0 quota=1 weight=1 asks=2\nq1 quota=1 weight=1 asks=1", total=2)
    assert got == {"q0": 1, "q1": 1}


def test_kai_a_department_without_bounds_hands_all_down() -> None:
    text = """
    default  quota=unlimited weight=0
      q0     quota=1 weight=3 asks=2
      q1     quota=2 weight=1 asks=2.5
    """
    assert shares(text, total=4) == {"q0": 2, "q1": 2}


def test_the_higher_priority_is_served_from_the_surplus_first_but_never_before_a_guarantee() -> None:
    text = """
    high     priority=2 asks=3
    low      quota=2 asks=9
    middle   priority=1 asks=9
    """
    assert shares(text, total=8) == {"high": 3, "low": 2, "middle": 3}


def test_a_band_keeps_its_left_over_grain() -> None:
    text = """
    high-a   priority=1 asks=9
    high-b   priority=1 asks=9
    low      asks=9
    """
    assert shares(text, total=3) == {"high-a": 2, "high-b": 1, "low": 0}


def test_guarantees_are_given_even_when_they_are_more_than_there_is() -> None:
    assert shares("a quota=3 asks=3\nb quota=3 asks=9", total=4) == {"a": 3, "b": 3}


def test_a_limit_bounds_quota_surplus_and_every_child() -> None:
    text = """
    lab        limit=3
      vision   quota=2 asks=2
      speech   asks=9
    free       asks=9
    """
    assert shares(text, total=9) == {"free": 6, "speech": 1, "vision": 2}


def test_a_parent_asks_only_for_what_its_children_may_use() -> None:
    text = """
    lab        quota=8
      vision   limit=1 asks=9
    other      asks=9
    """
    assert shares(text, total=8) == {"other": 7, "vision": 1}


def test_only_what_division_limits_is_in_whole_gpus() -> None:
    assert shares("a quota=0.5 asks=0.5\nb asks=1.5\nc asks=9", total=4) == {"a": 0.5, "b": 1.5, "c": 2}


def test_cpu_is_divided_to_the_milli_core() -> None:
    assert shares("a asks=9\nb asks=9\nc asks=9", 1, resource="cpu") == {"a": 0.334, "b": 0.333, "c": 0.333}


# Past use.


def test_who_used_its_part_gets_half_of_what_the_idle_one_gets() -> None:
    # n is 1/2 for both: 0.5 + (0.5 - 0.5) against 0.5 + (0.5 - 0).
    text = "busy asks=99 usage=0.5\nidle asks=99 usage=0"
    assert shares(text, 9, REMEMBERING) == {"busy": 3, "idle": 6}
    assert shares(text, 9) == {"busy": 5, "idle": 4}
    assert shares(text, 9, QuotaThenWeight(k=0.0, memory=Memory())) == {"busy": 5, "idle": 4}


def test_past_use_never_touches_the_guarantee() -> None:
    assert shares("busy quota=4 asks=99 usage=1\nidle asks=99", 9, REMEMBERING) == {"busy": 4, "idle": 5}


def test_who_used_everything_still_gets_what_nobody_else_wants() -> None:
    assert shares("busy asks=99 usage=1\nidle asks=2", 9, REMEMBERING) == {"busy": 7, "idle": 2}


def test_when_everybody_used_too_much_weights_alone_count() -> None:
    # Cannot come from one cluster's books; a foreign source of past use may say it.
    assert shares("a asks=9 usage=1\nb asks=9 usage=1", 4, REMEMBERING) == {"a": 2, "b": 2}


def test_a_sibling_that_has_enough_does_not_turn_the_weights_of_the_others() -> None:
    # At 103 GPUs `small` has enough. If weights were taken anew then, `starved` would fall from 47 to 38.
    text = "busy asks=999 usage=0.6\nsmall asks=49\nstarved asks=999"
    assert shares(text, 100, REMEMBERING) == {"busy": 5, "small": 48, "starved": 47}
    assert shares(text, 103, REMEMBERING) == {"busy": 5, "small": 49, "starved": 49}


# Worked examples: Volcano and YuniKorn.


@pytest.mark.parametrize("share", [QuotaThenWeight(), Weighted()])
def test_volcano_equal_weights_divide_a_node_equally(share: Division) -> None:
    assert shares("q1 asks=2\nq2 asks=2", 2, share, "cpu") == {"q1": 1, "q2": 1}
    assert shares("q1 asks=3\nq2 asks=1", 2, share, "cpu") == {"q1": 1, "q2": 1}
    assert shares("q1 asks=3\nq2 asks=3", 5, share, "cpu") == {"q1": 2.5, "q2": 2.5}
    assert shares("q1 asks=3\nq2 asks=1", 3, share, "cpu") == {"q1": 2, "q2": 1}


@pytest.mark.parametrize("share", [QuotaThenWeight(), Weighted()])
def test_volcano_three_gpus_for_two_queues_strand_none(share: Division) -> None:
    assert shares("q1 asks=3\nq2 asks=3", 3, share) == {"q1": 2, "q2": 1}


def test_volcano_capability_bounds_each_resource_by_itself() -> None:
    gib = 2**30
    limits = {"q1": {"cpu": Terms(limit=2000), "memory": Terms(limit=2 * gib)}}
    limits["q2"] = {"cpu": Terms(limit=3000), "memory": Terms(limit=3 * gib)}
    uses = {"q1": Use({"cpu": 2000, "memory": 3 * gib}), "q2": Use({"cpu": 2000, "memory": 2 * gib})}
    queues = [Queue(name, terms=terms) for name, terms in limits.items()]
    table = queue_table(queues, uses, {"cpu": 4000, "memory": 4 * gib})
    assert Weighted().divide(table).tolist() == [[2000, 2 * gib], [2000, 2 * gib]]


@pytest.mark.parametrize("share", [QuotaThenWeight(), Weighted()])
def test_volcano_a_hierarchy_divides_each_resource_among_those_who_ask_for_it(share: Division) -> None:
    queues = [Queue("sci"), Queue("eng"), Queue("dev", "eng"), Queue("prod", "eng")]
    uses = {"sci": Use({"cpu": 10, "memory": 10}), "dev": Use({"cpu": 10}), "prod": Use({"memory": 10})}
    table = queue_table(queues, uses, {"cpu": 10, "memory": 10})
    assert by_name(table, share.divide(table)) == {"sci": [5, 5], "eng": [5, 5], "dev": [5, 0], "prod": [0, 5]}


@pytest.mark.parametrize("share", [QuotaThenWeight(), Weighted()])
def test_volcano_a_subtree_that_asks_for_one_resource_does_not_block_the_other(share: Division) -> None:
    queues = [Queue("pg1"), Queue("pg2"), Queue("pg3"), Queue("pg31", "pg3"), Queue("pg32", "pg3"), Queue("pg4")]
    uses = {name: Use({"cpu": 30}) for name in ("pg1", "pg2", "pg31")}
    uses |= {name: Use({"memory": 30}) for name in ("pg32", "pg4")}
    table = queue_table(queues, uses, {"cpu": 30, "memory": 30})
    assert by_name(table, share.divide(table)) == {
        "pg1": [10, 0], "pg2": [10, 0], "pg3": [10, 15], "pg31": [10, 0], "pg32": [0, 15], "pg4": [0, 15],
    }  # fmt: skip


def test_volcano_chains_of_queues_whose_guarantees_are_more_than_there_is() -> None:
    text = """
    grand-a         quota=2
      parent-a      quota=2
        queue-a     quota=2 asks=2
    grand-b         quota=3
      parent-b      quota=1
        queue-b     quota=1 asks=2
    """
    assert shares(text, 2, resource="cpu") == {"queue-a": 2, "queue-b": 2}
    assert shares(text, 2, Weighted(), resource="cpu") == {"queue-a": 2, "queue-b": 2}


def test_a_quota_comes_before_the_weights_or_is_a_floor_under_them() -> None:
    text = "promised quota=4 asks=9\nplain asks=9"
    assert shares(text, 8) == {"plain": 2, "promised": 6}
    assert shares(text, 8, Weighted()) == {"plain": 4, "promised": 4}
    assert shares(text, 6, Weighted()) == {"plain": 2, "promised": 4}


def test_weighted_does_not_look_at_the_priority_of_queues() -> None:
    assert shares("a priority=9 asks=9\nb asks=9", 4, Weighted()) == {"a": 2, "b": 2}


def test_yunikorn_guarantees_bring_ten_and_two_to_seven_and_five() -> None:
    assert shares("q1 quota=5 asks=10\nq2 quota=5 asks=5", 12, resource="cpu") == {"q1": 7, "q2": 5}
    text = "ten-a quota=10 asks=15\nten-b quota=10 asks=15\nsys quota=10 asks=10"
    assert shares(text, 30, resource="cpu") == {"sys": 10, "ten-a": 10, "ten-b": 10}
    assert shares("c1 quota=5 asks=10\nc2 quota=5 asks=5", 10, resource="cpu") == {"c1": 5, "c2": 5}


# What holds for any tree.


def by_name(table: QueueTable, share: Int) -> dict[str, list[int]]:
    """Return the rows by queue."""
    return {queue.name: share[row].tolist() for row, queue in enumerate(table.queues)}


def families(table: QueueTable, share: Int) -> Iterator[tuple[int, int, list[oracle.Node]]]:
    """Yield (grain, what there is to divide, siblings) for every parent and resource, with the shares in the nodes."""
    for column in range(len(table.resources)):
        open_at = [(max(int(table.total[column]), 0), oracle.tree(table, column))]
        while open_at:
            total, siblings = open_at.pop()
            for node in siblings:
                node.share = int(share[node.row, column])
                if node.children:
                    open_at.append((node.share, node.children))
            yield int(table.grain[column]), total, siblings


@given(queue_tables(), any_division)
def test_shares_never_exceed_what_is_there_unless_guarantees_do(table: QueueTable, share: Division) -> None:
    for _, total, siblings in families(table, share.divide(table)):
        assert sum(node.share for node in siblings) <= max(total, sum(node.guarantee(total) for node in siblings))


@given(queue_tables(), any_division)
def test_nobody_is_below_its_guarantee_or_above_its_request_and_limit(table: QueueTable, share: Division) -> None:
    for _, total, siblings in families(table, share.divide(table)):
        assert all(node.guarantee(total) <= node.share <= node.requestable for node in siblings)


@given(queue_tables(), any_division)
def test_nothing_stays_idle_while_somebody_with_a_weight_wants_it(table: QueueTable, share: Division) -> None:
    for _, total, siblings in families(table, share.divide(table)):
        idle = total - sum(node.share for node in siblings)
        assert idle <= 0 or not any(node.missing and node.weight for node in siblings)


@given(queue_tables(), any_division, st.data())
def test_equals_get_equal_shares_within_one_grain(table: QueueTable, share: Division, data: st.DataObject) -> None:
    queues, uses, total = taken_apart(table)
    chosen = data.draw(st.sampled_from(sorted(uses)))
    twin = replace(queues[table.row[chosen]], name="twin", created=data.draw(st.sampled_from([0.0, 9.0])))
    both = queue_table([*queues, twin], {**uses, "twin": uses[chosen]}, total)
    got = share.divide(both)
    assert (np.abs(got[both.row["twin"]] - got[both.row[chosen]]) <= both.grain).all()


@given(queue_tables(), any_division, st.integers(1, 5000))
def test_growing_capacity_lowers_a_queue_by_at_most_one_grain_per_level(
    table: QueueTable, share: Division, more: int
) -> None:
    lost = share.divide(table) - share.divide(richer(table, more))
    assert (lost <= (table.depth[:, np.newaxis] + 1) * table.grain).all()


def renamed(table: QueueTable, names: list[str], *, aged: bool) -> QueueTable:
    """Return the same tree under other names; with `aged`, everybody keeps its place by age."""
    queues, uses, total = taken_apart(table)
    new = dict(zip(table.row, names, strict=True))
    moved = [
        replace(
            queue,
            name=new[queue.name],
            parent=None if queue.parent is None else new[queue.parent],
            created=float(table.age[row]) if aged else queue.created,
        )
        for row, queue in enumerate(queues)
    ]
    return queue_table(moved, {new[name]: use for name, use in uses.items()}, total)


@given(queue_tables(), any_division, st.randoms(use_true_random=False))
def test_renaming_moves_nothing_when_ages_stay(table: QueueTable, share: Division, chance: Random) -> None:
    names = [f"n{number}" for number in range(len(table))]
    chance.shuffle(names)
    other = renamed(table, names, aged=True)
    got, new = by_name(table, share.divide(table)), by_name(other, share.divide(other))
    assert {name: got[old] for old, name in zip(table.row, names, strict=True)} == new


@given(queue_tables(flat=True), st.sampled_from([0.0, 1.0, None]), st.randoms(use_true_random=False))
def test_reordering_moves_at_most_tied_left_over_grains(table: QueueTable, k: float | None, chance: Random) -> None:
    share = Weighted() if k is None else QuotaThenWeight(k, Memory() if k else None)
    names = [f"n{number}" for number in range(len(table))]
    chance.shuffle(names)
    other = renamed(table, names, aged=False)
    got, new = share.divide(table), share.divide(other)
    new = new[[other.row[name] for name in names]]
    nodes = oracle.weighted(table) if k is None else oracle.quota_then_weight(table, k)
    for column in range(len(table.resources)):
        moved = np.flatnonzero(got[:, column] != new[:, column])
        assert len({nodes[row][column].rest for row in moved}) <= 1
        assert (np.abs(got[moved, column] - new[moved, column]) <= table.grain[column]).all()
        assert got[:, column].sum() == new[:, column].sum()


# Arguments, and the edges.


@pytest.mark.parametrize("k", [-1.0, 100.5, float("nan")])
def test_a_bad_k_is_named(k: float) -> None:
    with pytest.raises(ValueError, match=f"^k: found {k}, allowed is 0 to 100$"):
        QuotaThenWeight(k)


@pytest.mark.parametrize("share", DIVISIONS)
def test_no_queue_no_resource_and_no_capacity_are_no_trouble(share: Division) -> None:
    assert isinstance(share, Share)
    assert share.divide(queue_table([], {}, {"cpu": 4})).shape == (0, 1)
    assert share.divide(queue_table([Queue("a"), Queue("b", "a")], {}, {})).shape == (2, 0)
    gone = queue_tree("a quota=unlimited asks=4\nb quota=1 asks=4\nc asks=4", total=-3)
    assert share.divide(gone).tolist() == [[0], [1000], [0]]

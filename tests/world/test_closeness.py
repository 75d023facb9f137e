"""Closeness: the levels that a pair of tasks must climb, over all pairs."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phalanx.model.closeness import closeness
from phalanx.model.topology import domains
from phalanx.model.tree import Level, tree_of

LEVELS = (Level("zone", "zone"), Level("rack", "rack"))
LABELS = st.lists(st.fixed_dictionaries({}, optional={"zone": st.sampled_from("ab"), "rack": st.sampled_from("12")}),
                  min_size=1, max_size=6)  # fmt: skip


@given(LABELS, st.data())
def test_it_is_the_mean_of_the_levels_that_pairs_climb(labels: list[dict[str, str]], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(labels) - 1), min_size=2, max_size=6))
    tree = tree_of(LEVELS, len(labels), lambda key: domains(key, labels), whole=False)

    def apart(one: int, other: int) -> int:
        if one == other:
            return 0
        first, second = labels[one], labels[other]
        zone = "zone" in first and first.get("zone") == second.get("zone")
        # A rack is the same one if all that is said above it is the same.
        rack = "rack" in first and first.get("rack") == second.get("rack") and first.get("zone") == second.get("zone")
        return 1 + (not rack) + (not zone)

    pairs = [apart(one, other) for one, other in itertools.combinations(rows, 2)]
    found = closeness(tree, np.array(rows))
    assert abs(found.distance - sum(pairs) / len(pairs)) < 1e-3
    assert (found.tasks, found.nodes, found.level) == (len(rows), len(set(rows)), "rack")

"""Who runs, here and under Volcano's own scheduler, in fifty recorded clusters: `make volcano` draws more."""

from collections import Counter
from pathlib import Path

import pytest

from tests.volcano_outcomes import ours
from tests.volcano_outcomes.cases import case
from tests.volcano_outcomes.comparing import differences, recorded, startable, summary

THEIRS = recorded()
PAGE = Path(__file__).parents[2] / "docs" / "volcano.md"


def test_in_no_cluster_a_group_waits_that_would_fit() -> None:
    found = {seed: startable(case(seed), ours.outcome(case(seed))) for seed in THEIRS}
    assert {seed: names for seed, names in found.items() if names} == {}


def test_the_page_tells_how_many_clusters_end_alike_and_why_the_others_do_not() -> None:
    text = PAGE.read_text()
    for line in summary(THEIRS):
        assert line in text, f"run make volcano, and write into docs/volcano.md: {line}"


@pytest.mark.parametrize("seed", THEIRS)
def test_what_differs_differs_in_groups_that_wait_on_one_side(seed: int) -> None:
    """Where fewer pods of a group run here, others run in their place, or lie on other nodes: never in two ways."""
    found = differences(case(seed), THEIRS[seed], ours.outcome(case(seed)).running)
    fewer = Counter(one.ours < one.theirs for one in found)
    assert fewer[True] <= 1

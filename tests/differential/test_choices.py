"""By `pod-by-pod`, Phalanx takes one of the nodes that the real kube-scheduler scores best."""

import pytest

from tests.differential.arena import Arena
from tests.differential.choosing import Choices, choose
from tests.differential.families.wishes import WISHES

#: Of 25 pods each.
CLUSTERS = 3


@pytest.mark.slow
@pytest.mark.parametrize("family", WISHES)
def test_phalanx_takes_one_of_the_nodes_that_kube_scheduler_scores_best(place: Arena, family: str) -> None:
    found = Choices()
    for seed in range(CLUSTERS):
        found.add(choose(place, family, WISHES[family], seed))
    assert found.pods >= 50
    assert not found.told, "\n".join(found.told)

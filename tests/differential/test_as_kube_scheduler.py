"""Random clusters and pods, asked node by node: Phalanx takes what the real kube-scheduler takes.

Never more generous; never stricter without a line in the docs that says why. `make differential` is the long form.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from phalanx.testing.control_plane import need_binaries
from tests.differential.arena import Arena, arena
from tests.differential.comparing import Tally, compare
from tests.differential.families.basic import taints
from tests.differential.families.table import BUILT
from tests.differential.figures import FAMILY_PODS, PAGE, read_figures, table_text
from tests.differential.ours import POD_BY_POD
from tests.differential.stricter import STRICTER

#: Of 40 pods each.
CLUSTERS = 5


@pytest.fixture(scope="module")
def place() -> Iterator[Arena]:
    need_binaries()
    with arena() as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize("family", BUILT)
def test_phalanx_takes_what_kube_scheduler_takes(place: Arena, family: str) -> None:
    tally = Tally()
    for seed in range(CLUSTERS):
        tally.add(compare(place, family, BUILT[family], seed))
    assert tally.pods >= 200
    # A family of pods that go anywhere, or nowhere, would say nothing.
    assert tally.placeable > 20
    assert tally.refused > 20
    assert not tally.faults, "\n".join(map(str, tally.faults))


@pytest.mark.slow
def test_a_policy_that_forgets_taints_is_found_out(place: Arena) -> None:
    """The comparison itself must be able to fail."""
    plugins = tuple(one for one in POD_BY_POD.plugins if one.plugin.name != "taints")
    tally = compare(place, "taints", taints, 0, replace(POD_BY_POD, plugins=plugins))
    assert tally.generous > 10
    assert tally.faults


def test_the_long_form_was_run_over_every_family_and_its_figures_are_in_the_docs() -> None:
    figures = read_figures()
    assert list(figures) == list(BUILT)
    assert all(row["pods"] >= FAMILY_PODS and row["generous"] == 0 and row["faults"] == 0 for row in figures.values())
    assert table_text(figures) in PAGE.read_text("utf-8")


def test_whatever_is_stricter_on_purpose_has_its_line_in_the_docs() -> None:
    text = " ".join(Path(PAGE).read_text("utf-8").split())
    assert not [line for line in STRICTER.values() if line not in text]

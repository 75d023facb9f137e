"""Random clusters and pods, asked node by node: Phalanx takes what the real kube-scheduler takes.

Never more generous; never stricter without a line in the docs that says why. `make differential` is the long form.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.differential.arena import Arena
from tests.differential.comparing import Tally, compare
from tests.differential.families.basic import taints
from tests.differential.families.table import FAMILIES
from tests.differential.families.wishes import WISHES
from tests.differential.figures import CHOICE_PODS, FAMILY_PODS, PAGE, read_figures, tables
from tests.differential.ours import POD_BY_POD
from tests.differential.stricter import STRICTER

#: Of 40 pods each.
CLUSTERS = 5


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_phalanx_takes_what_kube_scheduler_takes(place: Arena, family: str) -> None:
    tally = Tally()
    for seed in range(CLUSTERS):
        tally.add(compare(place, family, FAMILIES[family], seed))
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
    verdicts, choices = figures = read_figures()
    assert list(verdicts) == list(FAMILIES)
    assert all(row["pods"] >= FAMILY_PODS for row in verdicts.values())
    assert not any(row["generous"] or row["faults"] for row in verdicts.values())
    assert list(choices) == list(WISHES)
    assert all(row["pods"] >= CHOICE_PODS and row["best"] == row["pods"] for row in choices.values())
    text = PAGE.read_text("utf-8")
    assert not [table for table in tables(*figures) if table not in text]


def test_whatever_is_stricter_on_purpose_has_its_line_in_the_docs() -> None:
    text = " ".join(Path(PAGE).read_text("utf-8").split())
    assert not [line for line in STRICTER.values() if line not in text]

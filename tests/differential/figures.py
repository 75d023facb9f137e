"""The figures of the last long run: a file that tests read, and the table that the docs show."""

import json
from pathlib import Path
from typing import TypeAlias

from tests.differential.comparing import Tally
from tests.differential.families.table import FAMILIES

#: family -> what was counted.
Figures: TypeAlias = dict[str, dict[str, int]]

PAGE = Path(__file__).parents[2] / "docs" / "as-kube-scheduler.md"
_FILE = Path(__file__).with_name("figures.json")
#: How many pods a family is asked about in the long form, at least.
FAMILY_PODS = 2000
_HEAD = (
    "| family | clusters | pods | kube-scheduler places | more generous | stricter, explained | other |",
    "|---|---|---|---|---|---|---|",
)


def read_figures() -> Figures:
    """Return the figures of the last run."""
    found: Figures = json.loads(_FILE.read_text("utf-8"))
    return found


def record(tallies: dict[str, Tally]) -> None:
    """Write down what came out, in the file and in the docs; families that were not played stay as they were."""
    before = read_figures()
    found = before | {
        name: {
            "clusters": tally.clusters,
            "pods": tally.pods,
            "placeable": tally.placeable,
            "generous": tally.generous,
            "stricter": tally.stricter,
            "faults": len(tally.faults),
        }
        for name, tally in tallies.items()
    }
    figures = {name: found[name] for name in FAMILIES if name in found}
    text = PAGE.read_text("utf-8").replace(table_text(before), table_text(figures))
    _FILE.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
    PAGE.write_text(text, "utf-8")


def table_text(figures: Figures) -> str:
    """Return the figures as the docs show them."""
    keys = ("clusters", "pods", "placeable", "generous", "stricter", "faults")
    rows = [f"| {name} | {' | '.join(f'{row[key]:,}' for key in keys)} |" for name, row in figures.items()]
    return "\n".join((*_HEAD, *rows))

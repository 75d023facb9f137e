"""The figures of the last long run: a file that tests read, and the tables that the docs show."""

import json
from pathlib import Path
from typing import TypeAlias

from tests.differential.choosing import Choices
from tests.differential.comparing import Tally
from tests.differential.families.table import FAMILIES
from tests.differential.families.wishes import WISHES

#: family -> what was counted.
Figures: TypeAlias = dict[str, dict[str, int]]

PAGE = Path(__file__).parents[2] / "docs" / "as-kube-scheduler.md"
_FILE = Path(__file__).with_name("figures.json")
#: How many pods a family is asked about in the long form, at least.
FAMILY_PODS = 2000
CHOICE_PODS = 500
_VERDICTS = ("family", "clusters", "pods", "kube-scheduler places", "more generous", "stricter, explained", "other")
_CHOICES = ("family", "clusters", "pods with a choice", "one of kube-scheduler's best")


def read_figures() -> tuple[Figures, Figures]:
    """Return the figures of the last run: of verdicts, and of choices."""
    found = json.loads(_FILE.read_text("utf-8"))
    return found["verdicts"], found["choices"]


def record(tallies: dict[str, Tally], choices: dict[str, Choices]) -> None:
    """Write down what came out, in the file and in the docs; families that were not played stay as they were."""
    verdicts, chosen = before = read_figures()
    verdicts = verdicts | {
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
    chosen = chosen | {
        name: {"clusters": one.clusters, "pods": one.pods, "best": one.best} for name, one in choices.items()
    }
    after = (
        {name: verdicts[name] for name in FAMILIES if name in verdicts},
        {name: chosen[name] for name in WISHES if name in chosen},
    )
    text = PAGE.read_text("utf-8")
    for old, new in zip(tables(*before), tables(*after), strict=True):
        text = text.replace(old, new)
    _FILE.write_text(json.dumps({"verdicts": after[0], "choices": after[1]}, indent=1) + "\n", "utf-8")
    PAGE.write_text(text, "utf-8")


def tables(verdicts: Figures, choices: Figures) -> tuple[str, str]:
    """Return the figures as the docs show them."""
    return _table(_VERDICTS, verdicts), _table(_CHOICES, choices)


def _table(head: tuple[str, ...], figures: Figures) -> str:
    rows = [f"| {name} | {' | '.join(f'{value:,}' for value in row.values())} |" for name, row in figures.items()]
    return "\n".join((f"| {' | '.join(head)} |", "|" + "---|" * len(head), *rows))

"""Nothing outside `dialects/` knows what a dialect calls its objects and keys."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import phalanx
from phalanx.dialects import table, unread
from phalanx.dialects.hami import annotations as hami
from phalanx.dialects.kai import pods as kai
from phalanx.dialects.koordinator import parts as koordinator
from phalanx.dialects.volcano import pods as volcano

PACKAGE = Path(phalanx.__file__).parent
FOLDERS = ("model", "engine", "world", "sim", "record", "kube")
#: Starts API servers for tests, with the feature gates of their releases.
EXEMPT = PACKAGE / "kube" / "local"
FILES = sorted(
    path for folder in FOLDERS for path in (PACKAGE / folder).rglob("*.py") if not path.is_relative_to(EXEMPT)
)
#: Queue and Device are words of the model too, and Phalanx keeps the status of its own Queues.
SHARED = {"core", "native"}
OWN = [row for row in table.ROWS if row.name not in SHARED]
GROUPS = {kind.group for row in OWN for kind in row.kinds} - {
    kind.group for row in table.ROWS if row.name in SHARED for kind in row.kinds
}
KINDS = {kind.kind for row in OWN for kind in row.kinds} - {"Queue", "Device"}
PLURALS = {kind.plural for row in OWN for kind in row.kinds} - {"queues", "devices"}
KEYS = {
    *volcano.GROUP_NAMES, volcano.GROUP_MINIMUM, volcano.QUEUE, volcano.TASK, volcano.PREEMPTABLE,
    kai.POD_GROUP, kai.SUBGROUP, kai.QUEUE, kai.PREEMPTIBILITY, *unread._ANNOTATIONS, *unread._LABELS,
    hami.USE_TYPE, *hami.HELD, *koordinator.HELD,
}  # fmt: skip
FIELDS = {"schedulingGroup", "workloadRef"}


def strings(path: Path) -> Iterator[str]:
    """Yield the strings of a module that are no docstrings."""
    tree = ast.parse(path.read_text())
    words = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in words:
            yield node.value


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_string_is_a_name_of_a_dialect(path: Path) -> None:
    found = [
        text
        for text in strings(path)
        if text in KINDS | PLURALS or any(name in text for name in GROUPS | KEYS | FIELDS)
    ]
    assert found == []


def test_the_names_are_those_that_were_meant() -> None:
    assert "scheduling.run.ai" in GROUPS
    assert {"PodGroup", "Workload"} <= KINDS

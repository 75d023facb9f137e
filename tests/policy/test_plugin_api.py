"""`phalanx.plugin_api` is what plugin authors import: a promise of names; what we show imports nothing else."""

import ast
import re
from pathlib import Path

from phalanx import plugin_api

ROOT = Path(__file__).parents[2]
#: A name goes from here only with a line in the changelog.
NAMES = """
    AMOUNTS CPU GPU MEMORY NOBODY PODS UNLIMITED
    Bool Float Int
    Plugin Filter Score Take Order QueueOrder Veto Victim Caps Count Tally Ceiling Reach PluginError yes_no
    Session Snapshot Request When Column Residents Shape Unit Units Taken Heads
    Code Reason Refusals Seconds written
"""
#: What tests of plugins import beside it.
FOR_TESTS = {"phalanx.testing"}


def modules_of_phalanx(text: str) -> set[str]:
    found: set[str] = set()
    for item in ast.walk(ast.parse(text)):
        names = [item.module or ""] if isinstance(item, ast.ImportFrom) else []
        names += [alias.name for alias in item.names] if isinstance(item, ast.Import) else []
        found |= {name for name in names if name.partition(".")[0] == "phalanx"}
    return found


def test_it_has_exactly_these_names() -> None:
    assert sorted(plugin_api.__all__) == sorted(NAMES.split())
    assert [name for name in plugin_api.__all__ if not hasattr(plugin_api, name)] == []


def test_the_page_and_the_examples_import_from_it_alone() -> None:
    page = (ROOT / "docs" / "plugins.md").read_text("utf-8")
    shown = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    package = sorted((ROOT / "examples" / "plugins" / "phalanx_examples").glob("*.py"))
    assert shown
    assert package
    for text in shown:
        assert modules_of_phalanx(text) <= {"phalanx.plugin_api", *FOR_TESTS}
    for path in package:
        assert modules_of_phalanx(path.read_text("utf-8")) <= {"phalanx.plugin_api"}, path.name

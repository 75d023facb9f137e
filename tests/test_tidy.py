"""House rules as a test: sizes, one class per plugin, docs for every plugin, nothing that names a machine."""

import ast
import re
import tomllib
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
PLUGINS = [path for path in SOURCES if path.parent.name == "plugins" and path.name != "__init__.py"]
MODULE_MAX = 300
FUNCTION_MAX = 60


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_and_functions_are_small(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert len(lines) <= MODULE_MAX, f"{path.name} has {len(lines)} lines: what noun is missing?"
    for item in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
            documented = ast.get_docstring(item) is not None and len(item.body) > 1
            size = (item.end_lineno or 0) - item.body[documented].lineno + 1
            assert size <= FUNCTION_MAX, f"{path.name}: {item.name} has {size} lines"


@pytest.mark.parametrize("path", PLUGINS, ids=lambda path: path.stem)
def test_a_plugin_is_one_file_named_after_its_class_and_documented(path: Path) -> None:
    tree = ast.parse(path.read_text())
    name = "".join(word.capitalize() for word in path.stem.split("_"))
    classes = [item.name for item in tree.body if isinstance(item, ast.ClassDef)]
    assert name in classes
    assert (ast.get_docstring(tree) or "").startswith(f"{name}: ")
    assert f"`{path.stem}`" in (ROOT / "docs" / "policy.md").read_text()


def test_every_type_that_the_glossary_names_exists() -> None:
    named = re.findall(r"`(phalanx\.[\w.]+)`", (ROOT / "docs" / "glossary.md").read_text("utf-8"))
    assert len(named) > 60
    assert [name for name in named if not _exists(name)] == []


def _exists(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    try:
        return hasattr(import_module(module), attribute) or import_module(name) is not None
    except ImportError:
        return False


def test_the_engine_has_few_layers_and_its_top_floor_few_modules() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    [layers] = [one["layers"] for one in contracts if one.get("containers") == ["phalanx.engine"]]
    assert len(layers) <= 9
    top = [path for path in (ROOT / "src" / "phalanx" / "engine").glob("*.py") if path.name != "__init__.py"]
    assert len(top) <= 10, sorted(path.name for path in top)


def test_the_picture_of_a_cycle_is_the_code() -> None:
    picture = (ROOT / "ARCHITECTURE.md").read_text("utf-8").partition("## One cycle")[2].partition("## Folders")[0]
    steps = re.findall(
        r"^([a-z_][\w.]+) ", picture.partition("engine/decide.py")[2].partition("loop.py")[0], re.MULTILINE
    )
    body = (ROOT / "src/phalanx/engine/decide.py").read_text("utf-8").partition("def deliberate")[2]
    called = re.findall(rf"\b({'|'.join(map(re.escape, set(steps)))})\(", body)
    assert called[: called.index("steps_of") + 1] == steps


def test_files_that_the_pages_name_exist() -> None:
    named = re.findall(r"`((?:engine|world|kube|sim|model|dialects|policy|cli)/[a-z_/]+\.py)`", _pages())
    assert [name for name in named if not (ROOT / "src" / "phalanx" / name).exists()] == []


def _pages() -> str:
    return "".join((ROOT / name).read_text("utf-8") for name in ("ARCHITECTURE.md", "CONTRIBUTING.md"))


def test_the_cluster_the_simulator_and_the_commands_read_the_world_through_views() -> None:
    direct = re.compile(r"world\.(tasks|members|on_node|nominated|groups|classes|moves)\b")
    for folder in ("kube", "sim", "cli"):
        for path in (ROOT / "src" / "phalanx" / folder).rglob("*.py"):
            found = direct.findall(path.read_text())
            assert not found, f"{path} reads world.{found[0]}"


def test_test_files_have_names_of_their_own() -> None:
    """Two of one name cannot be collected together; each alone can, so nobody sees it before the whole run."""
    named = Counter(path.name for path in Path(__file__).parent.rglob("test_*.py"))
    assert [name for name, count in named.items() if count > 1] == []


def test_one_title_per_page() -> None:
    for page in [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]:
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        assert len(re.findall(r"^# ", text, flags=re.MULTILINE)) == 1, page.name


def test_links_between_pages_lead_somewhere() -> None:
    for page in [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), *(ROOT / "examples").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"

"""The pages about policies and plugins are true: what they show runs, and they leave nothing out."""

import re
import tomllib
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from phalanx.policy.arguments import written
from phalanx.policy.load import PolicyError, parse_policy, preset_names
from phalanx.policy.registry import ACTIONS, PLUGINS
from phalanx.policy.sections import KEYS

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", (DOCS / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_every_example_of_a_policy_loads() -> None:
    for block in blocks("policy.md", "yaml"):
        plugins = yaml.safe_load(block)
        text = block if isinstance(plugins, dict) else yaml.safe_dump({"extends": "default", "plugins": plugins})
        assert parse_policy(text, "policy.md")


def test_every_name_that_a_policy_can_use_is_on_the_page() -> None:
    page = (DOCS / "policy.md").read_text("utf-8")
    arguments = [written(one.name) for cls in PLUGINS.values() for one in fields(cls)]  # type: ignore[arg-type]
    names = [*KEYS, *PLUGINS, *ACTIONS, *preset_names(), *arguments]
    assert [name for name in names if f"`{name}`" not in page] == []


@pytest.fixture
def few_pods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make the package that the page describes, put it on the path, and return the policy that names its plugin."""
    [point] = [tomllib.loads(block)["project"]["entry-points"] for block in blocks("plugins.md", "toml")]
    [(name, value)] = point["phalanx.plugins"].items()
    module = tmp_path / f"{value.partition(':')[0].replace('.', '/')}.py"
    module.parent.mkdir()
    module.write_text(blocks("plugins.md", "python")[0])
    metadata = tmp_path / "acme_plugins-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-plugins\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[phalanx.plugins]\n{name} = {value}\n")
    monkeypatch.syspath_prepend(tmp_path)
    return blocks("plugins.md", "yaml")[0]


@pytest.mark.parametrize("number", range(2))
def test_the_plugin_of_the_page_passes_the_tests_of_the_page(
    few_pods: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Placing is one of them, evicting and nominating the other."""
    (tmp_path / "mine.yaml").write_text(few_pods)
    names: dict[str, Callable[[], None]] = {}
    exec(compile(blocks("plugins.md", "python")[1], "story.py", "exec"), names)  # noqa: S102 (our own page)
    monkeypatch.chdir(tmp_path)
    tests = [test for name, test in names.items() if name.startswith("test_")]
    assert len(tests) == 2
    tests[number]()


def test_the_plugin_of_the_page_checks_its_argument(few_pods: str) -> None:
    with pytest.raises(PolicyError) as raised:
        parse_policy(few_pods.replace("limit: 2", "limit: 0"), "mine.yaml")
    said = "mine.yaml:8: plugins[3].arguments.limit: found 0, allowed is 1 or more"
    assert str(raised.value) == said

"""The package announces its plugins, and a policy file can name them."""

import tomllib
from pathlib import Path

import pytest
from phalanx_examples.barrier import Barrier
from phalanx_examples.gpu_priority import GpuPriority

from phalanx.policy.load import parse_policy
from phalanx.policy.registry import origin

TEXT = """
extends: default
plugins:
  - {name: gpu_priority, weight: 5}
  - {name: barrier, arguments: {window: 1m}}
"""


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave on the path what an installer would make of the package's pyproject."""
    project = tomllib.loads(Path(__file__).with_name("pyproject.toml").read_text())["project"]
    metadata = tmp_path / "phalanx_examples-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    points = project["entry-points"]["phalanx.plugins"]
    lines = "".join(f"{name} = {value}\n" for name, value in points.items())
    (metadata / "entry_points.txt").write_text(f"[phalanx.plugins]\n{lines}")
    monkeypatch.syspath_prepend(tmp_path)


def test_a_policy_names_the_plugins_of_the_package() -> None:
    policy = parse_policy(TEXT, "my.yaml")
    assert [(weighted.plugin, weighted.weight) for weighted in policy.plugins] == [
        (GpuPriority(), 5),
        (Barrier(window=60.0), 1),  # type: ignore[arg-type]
    ]
    assert policy.label_keys == {"job-id", "job-size"}
    assert origin("barrier") == "by entry point from phalanx-examples 0.1.0"

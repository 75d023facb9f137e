"""Write what of the Helm chart is made from the manifests: `python -m phalanx.kube.installation.chart FOLDER`."""

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from phalanx.kube.install import crd_text, manifest_files
from phalanx.kube.installation.text import template
from phalanx.kube.installation.values import Values

#: Helm makes the namespace itself (--create-namespace), and refuses a chart that makes it too.
NOT_IN_CHART = {"1-namespace.yaml"}
_SAYS = "{{- /* Made from src/phalanx/kube/manifests by `make chart`: change it there. */}}\n"


def chart_files() -> dict[str, str]:
    """Return the files of the chart that nobody writes by hand, by their path in it."""
    files = {f"templates/{name}": _SAYS + template(text) for name, text in manifest_files().items()}
    kept = {path: text for path, text in files.items() if path.rpartition("/")[2] not in NOT_IN_CHART}
    schema = json.dumps(_schema(), indent=2, sort_keys=True) + "\n"
    return kept | {"crds/queues.yaml": crd_text(), "values.schema.json": schema}


def _schema() -> dict[str, Any]:
    (top,), parts = msgspec.json.schema_components([Values], ref_template="#/$defs/{name}")
    everything = parts.pop("Values")
    assert top == {"$ref": "#/$defs/Values"}
    # Helm adds `global` to the values of every chart that another one brings along.
    everything["properties"]["global"] = {"type": "object"}
    return {"$schema": "http://json-schema.org/draft-07/schema#", **everything, "$defs": parts}


def main(folder: Path) -> None:
    """Write the files, and take away those that are no longer made."""
    files = chart_files()
    for old in (folder / "templates").glob("*.yaml"):
        if f"templates/{old.name}" not in files:
            old.unlink()
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Each field of Volcano's Queue and PodGroup wrong in turn: one line that names it, and nobody else is affected."""

from typing import Any

import pytest

from phalanx.dialects.read import read
from phalanx.dialects.volcano.fields import FIELDS
from phalanx.model.events import Refused

KINDS = {"PodGroup": "PodGroup `scheduling.volcano.sh/v1beta1`", "Queue": "Queue `scheduling.volcano.sh/v1beta1`"}
#: No value of these is wrong for a file: nothing is read of them. The API server checks them by the definition.
UNREAD = {"spec.type", "spec.extendClusters[].name", "spec.extendClusters[].weight", "spec.extendClusters[].capacity"}
PATHS = [
    (kind, one.path)
    for kind, title in KINDS.items()
    for one in FIELDS[title]
    if one.path.startswith("spec.") and one.path not in UNREAD
]


def placed(path: str, value: Any) -> dict[str, Any]:
    """Return a spec with this value at a path of the table."""
    step, _, rest = path.partition(".")
    inner = placed(rest, value) if rest else value
    return {step.removesuffix("[]"): [inner]} if step.endswith("[]") else {step: inner}


@pytest.mark.parametrize(("kind", "path"), PATHS)
def test_a_value_of_another_type_is_one_line_with_the_name_of_the_field(kind: str, path: str) -> None:
    spec = placed(path.removeprefix("spec."), 3.5)
    document = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}
    found = read(document, [])
    assert isinstance(found, Refused), f"{path}: {found}"
    assert found.field == path.replace("[]", "[0]")
    assert found.message.startswith("found 3.5, allowed is ")
    assert "\n" not in str(found)

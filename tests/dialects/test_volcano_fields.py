"""The table of Volcano's fields: the page is made from it, and no field of Volcano's definitions is missing in it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
import yaml

from phalanx.controllers.volcano import cron
from phalanx.dialects.core.objects import Selector
from phalanx.dialects.volcano import job_objects, objects
from phalanx.dialects.volcano.fields import FIELDS, HELD, HONOURED, IGNORED, page
from tests.kube.volcano_modules import definitions

PAGE = Path(__file__).parents[2] / "docs" / "volcano.md"
KINDS = {
    "scheduling.volcano.sh_podgroups": ("PodGroup `scheduling.volcano.sh/v1beta1`", objects.PodGroupSpec),
    "scheduling.volcano.sh_queues": ("Queue `scheduling.volcano.sh/v1beta1`", objects.QueueSpec),
    "topology.volcano.sh_hypernodes": ("HyperNode `topology.volcano.sh/v1alpha1`", objects.HyperNodeSpec),
    "batch.volcano.sh_jobs": ("Job `batch.volcano.sh/v1alpha1`", job_objects.JobSpec),
    "batch.volcano.sh_cronjobs": ("CronJob `batch.volcano.sh/v1alpha1`, on a cluster", cron._Spec),
}
#: Of a Job the pods, claims and flags are whole worlds of their own.
WHOLE = ("template", "volumeClaim", "plugins", "jobTemplate", "active")
PARTS = ("spec", "status")


def test_the_page_has_the_tables_of_the_code() -> None:
    assert page() in PAGE.read_text(), "run tools/volcano_fields.py"


def test_each_field_is_one_of_three_and_says_why() -> None:
    for fields in FIELDS.values():
        assert len({one.path for one in fields}) == len(fields)
        for one in fields:
            assert one.treatment in {HONOURED, HELD, IGNORED}
            assert one.text


@pytest.mark.parametrize("plural", KINDS)
def test_every_field_of_volcanos_definition_is_in_the_table_and_no_other(plural: str) -> None:
    (file,) = definitions(plural)
    (version,) = yaml.safe_load(file.read_text())["spec"]["versions"]
    properties = version["schema"]["openAPIV3Schema"]["properties"]
    there = {path for part in PARTS for path in leaves(properties[part], part)}
    listed = {one.path for one in FIELDS[KINDS[plural][0]] if one.path.startswith(PARTS)}
    assert listed == there


@pytest.mark.parametrize("plural", KINDS)
def test_what_is_honoured_or_holds_is_read(plural: str) -> None:
    title, type_ = KINDS[plural]
    read = set(read_fields(type_, "spec"))
    said = {one.path for one in FIELDS[title] if one.treatment != IGNORED and one.path.startswith("spec")}
    assert said <= read


def leaves(schema: dict[str, Any], path: str) -> Iterator[str]:
    """Yield the fields of a definition that have no fields themselves; of a selector the whole."""
    inner = schema.get("items", {}) if schema.get("type") == "array" else schema
    path = f"{path}[]" if inner is not schema and inner.get("properties") else path
    if (
        path.rpartition(".")[2].removesuffix("[]") in WHOLE
        or not inner.get("properties")
        or "matchLabels" in inner["properties"]
    ):
        yield re.sub(r"\[\]$", "", path)
        return
    for name, one in inner["properties"].items():
        yield from leaves(one, f"{path}.{name}")


def read_fields(type_: Any, path: str) -> Iterator[str]:
    """Yield the fields that a struct reads, in the same way."""
    for one in msgspec.structs.fields(type_):
        named = f"{path}.{one.encode_name}"
        structs = [] if one.encode_name in WHOLE else list(inner_structs(one.type))
        yield from (found for struct, listed in structs for found in read_fields(struct, named + "[]" * listed))
        if not structs:
            yield named


def inner_structs(type_: Any, listed: bool = False) -> Iterator[tuple[Any, bool]]:
    if isinstance(type_, type) and issubclass(type_, msgspec.Struct) and type_ is not Selector:
        yield type_, listed
    for one in get_args(type_):
        yield from inner_structs(one, listed or getattr(type_, "__origin__", None) is list)

"""The definition of the Queue that the API server gets says what the scheduler reads, no more and no less."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec.structs
import yaml

from phalanx.dialects.native import queues
from phalanx.dialects.native.queue_objects import QueueSpec
from phalanx.kube.install import Installation, manifests
from phalanx.kube.queue_crd import NAME, SPEC, TERMS, queue_crd


def rules(schema: Any) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield every rule with the schema that it is on."""
    if isinstance(schema, dict):
        yield from ((schema, rule) for rule in schema.get("x-kubernetes-validations", ()))
        for value in schema.values():
            yield from rules(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from rules(value)


def test_the_definition_has_the_fields_that_are_read() -> None:
    assert list(SPEC) == [field.encode_name for field in msgspec.structs.fields(QueueSpec)]
    assert tuple(TERMS) == queues.TERMS


def test_every_rule_tells_in_words_what_is_allowed_and_looks_at_fields_that_exist() -> None:
    found = list(rules(queue_crd()))
    assert len(found) == 10
    for schema, rule in found:
        assert re.search(r"\ballowed\b|cannot", rule["message"])
        for name in re.findall(r"self\.(\w+)\b(?!\()", rule["rule"]):
            assert name in schema["properties"]


def test_every_field_says_what_it_is_for() -> None:
    assert [name for name, schema in {**SPEC, **TERMS}.items() if not schema["description"].endswith(".")] == []


def test_it_is_the_first_thing_that_is_installed() -> None:
    text = manifests(Installation())
    first = next(yaml.safe_load_all(text))
    assert (first["kind"], first["metadata"]["name"]) == ("CustomResourceDefinition", NAME)
    assert first == queue_crd()


def test_it_is_cluster_wide_has_a_status_of_its_own_and_a_short_name() -> None:
    spec = queue_crd()["spec"]
    (version,) = spec["versions"]
    assert (spec["scope"], spec["group"], version["name"]) == ("Cluster", "scheduling.phalanx.dev", "v1alpha1")
    assert (version["served"], version["storage"], version["subresources"]) == (True, True, {"status": {}})
    assert (spec["names"]["shortNames"], spec["names"]["categories"]) == (["pq"], ["phalanx"])
    columns = [column["name"] for column in version["additionalPrinterColumns"]]
    assert columns == ["Parent", "Priority", "GPU quota", "GPUs", "Pending", "Age"]

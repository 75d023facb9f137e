"""Each field of Volcano's Job wrong in turn: one line that names it."""

import copy
import types
from collections.abc import Iterator
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
import pytest

from phalanx.dialects.mistakes import FieldError
from phalanx.dialects.volcano import job_objects as api
from phalanx.dialects.volcano.job_rules import complete
from phalanx.dialects.volcano.jobs import read_job

TASK = {
    "name": "worker", "replicas": 4, "minAvailable": 4, "maxRetry": 3, "topologyPolicy": "none",
    "template": {"spec": {"containers": [{"name": "main", "image": "x"}]}},
    "policies": [
        {"action": "AbortJob", "event": "PodFailed", "timeout": "1m"}, {"action": "RestartJob", "exitCode": 3},
    ],
    "dependsOn": {"name": ["first"], "iteration": "any"},
    "partitionPolicy": {
        "totalPartitions": 2, "partitionSize": 2, "minPartitions": 2,
        "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
    },
}  # fmt: skip
JOB = {
    "metadata": {"name": "train", "namespace": "ml", "uid": "u"},
    "spec": {
        "schedulerName": "volcano", "minAvailable": 4, "queue": "default", "maxRetry": 3, "runningEstimate": "1h",
        "ttlSecondsAfterFinished": 1, "priorityClassName": "urgent", "minSuccess": 1, "plugins": {"svc": []},
        "tasks": [{"name": "first", "replicas": 1, "template": TASK["template"]}, TASK],
        "policies": [{"action": "AbortJob", "events": ["PodEvicted"], "timeout": "1m"}],
        "volumes": [{"mountPath": "/in", "volumeClaimName": "c"}, {"mountPath": "/out", "volumeClaim": {}}],
        "networkTopology": {"mode": "soft", "highestTierName": "rack"},
    },
}  # fmt: skip


def fields(struct: Any, value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield every field that is filled in above, with its type."""
    for one in msgspec.structs.fields(struct):
        inside = value.get(one.encode_name) if isinstance(value, dict) else None
        if inside is None:
            continue
        where = (*path, one.encode_name)
        yield where, one.type
        item = next((arm for arm in arms(one.type) if get_origin(arm) is list), None)
        inner = next((arm for arm in arms(one.type) if isinstance(arm, type) and issubclass(arm, msgspec.Struct)), None)
        if inner is not None:
            yield from fields(inner, inside, where)
        elif item is not None and isinstance(get_args(item)[0], type) and issubclass(get_args(item)[0], msgspec.Struct):
            for number, part in enumerate(inside):
                yield from fields(get_args(item)[0], part, (*where, number))


def arms(kind: Any) -> tuple[Any, ...]:
    if get_origin(kind) is Annotated:
        return arms(get_args(kind)[0])
    if get_origin(kind) in {Union, types.UnionType}:
        return tuple(arm for one in get_args(kind) for arm in arms(one))
    return (kind,)


#: Where a map is right.
MAPS = {"volumeClaim", "template", "plugins", "networkTopology", "dependsOn", "partitionPolicy"}
EVERY = list(dict.fromkeys(path for path, _ in fields(api.JobSpec, JOB["spec"], ("spec",))))


def shown(path: tuple[Any, ...]) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def with_value(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    found: Any = copy.deepcopy(JOB)
    inner = found
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return found  # type: ignore[no-any-return]


def test_the_job_is_right_as_it_stands_and_all_its_fields_are_tried() -> None:
    assert complete(read_job(JOB)).queue == "default"
    named = {path[-1] for path in EVERY if isinstance(path[-1], str)}
    assert named >= {one.encode_name for one in msgspec.structs.fields(api.JobSpec)}
    assert named >= {one.encode_name for one in msgspec.structs.fields(api.Task)}


@pytest.mark.parametrize(
    ("path", "wrong"),
    [(path, wrong) for path in EVERY for wrong in (True, 1.5, {"a": 1}) if path[-1] not in MAPS or wrong != {"a": 1}],
    ids=lambda one: shown(one) if isinstance(one, tuple) else type(one).__name__,
)
def test_a_value_of_a_wrong_type_is_one_line_with_the_fields_name(path: tuple[Any, ...], wrong: Any) -> None:
    with pytest.raises(FieldError) as told:
        complete(read_job(with_value(path, wrong)))
    text = str(told.value)
    assert text.startswith(shown(path))
    assert "\n" not in text


@pytest.mark.parametrize(
    ("path", "wrong", "line"),
    [
        ("spec.minAvailable", 9, "found 9, allowed is at most the 5 pods of all tasks"),
        ("spec.queue", "No Name", "found 'No Name', allowed is"),
        ("spec.priorityClassName", "No Name", "found 'No Name', allowed is"),
        ("spec.minSuccess", 0, "found 0, allowed is a whole number >= 1"),
        ("spec.maxRetry", -1, "found -1, allowed is a whole number >= 0"),
        ("spec.ttlSecondsAfterFinished", -1, "found -1, allowed is a whole number >= 0"),
        ("spec.plugins.magic", [], "unknown plugin, allowed is svc"),
        ("spec.tasks.1.name", "first", "found 'first' again"),
        ("spec.tasks.1.replicas", 5, "found 5, allowed is 4, as partitionPolicy says"),
        ("spec.tasks.1.minAvailable", 5, "found 5, allowed is at most its replicas, 4"),
        ("spec.tasks.1.maxRetry", -2, "found -2, allowed is a whole number >= -1"),
        ("spec.tasks.1.topologyPolicy", "some", "found 'some', allowed is none"),
        ("spec.tasks.1.policies.0.action", "SyncJob", "found 'SyncJob', allowed is AbortJob"),
        ("spec.tasks.1.policies.0.event", "OutOfSync", "found 'OutOfSync', allowed is *"),
        ("spec.tasks.1.policies.0.timeout", "soon", "found 'soon', allowed is a duration"),
        ("spec.tasks.1.policies.1.exitCode", 0, "found 0, allowed is another than 0"),
        ("spec.tasks.1.dependsOn.name", ["nobody"], "found 'nobody', allowed is first, worker"),
        ("spec.tasks.1.dependsOn.iteration", "some", "found 'some', allowed is any, all"),
        ("spec.tasks.1.partitionPolicy.partitionSize", 0, "found 0, allowed is a whole number >= 1"),
        ("spec.networkTopology.mode", "near", "found 'near', allowed is hard, soft"),
        ("spec.volumes.1.mountPath", "/in", "found '/in' again"),
    ],
)
def test_a_value_outside_its_range_is_one_line_with_the_fields_name_and_what_is_allowed(
    path: str, wrong: Any, line: str
) -> None:
    steps = tuple(int(step) if step.isdigit() else step for step in path.split("."))
    with pytest.raises(FieldError) as told:
        complete(read_job(with_value(steps, wrong)))
    assert told.value.field == shown(steps)
    assert told.value.message.startswith(line)

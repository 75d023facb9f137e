"""Parts of a GPU: what pods say of them, in Phalanx's words and in KAI's, and one line for what cannot be."""

from typing import Any

import pytest

from phalanx.dialects.read import read
from phalanx.model.events import Refused, TaskSeen
from phalanx.model.sharing import MIB, WHOLE, Part
from phalanx.model.task import Task

OURS = "phalanx.dev/gpu-"
FIELD = "metadata.annotations[{}]".format


def seen(
    annotations: dict[str, str],
    *,
    node: str | None = None,
    gpus: str | None = None,
    labels: dict[str, str] | None = None,
    scheduler: str = "phalanx",
) -> TaskSeen | Refused:
    limits = {"cpu": "1"} if gpus is None else {"nvidia.com/gpu": gpus}
    spec: dict[str, Any] = {"schedulerName": scheduler, "containers": [{"name": "a", "resources": {"limits": limits}}]}
    metadata = {"name": "p", "uid": "p", "annotations": annotations, "labels": labels or {}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec | ({"nodeName": node} if node else {})}
    event = read(pod, ["phalanx"])
    assert isinstance(event, TaskSeen | Refused)
    return event


def task(annotations: dict[str, str], **more: Any) -> Task:
    event = seen(annotations, **more)
    assert isinstance(event, TaskSeen)
    return event.task


@pytest.mark.parametrize(
    ("annotations", "part"),
    [
        ({f"{OURS}fraction": "0.5"}, Part(milli=500, cores=500)),
        ({f"{OURS}fraction": ".25", f"{OURS}devices": "2"}, Part(2, milli=250, cores=250)),
        ({f"{OURS}fraction": "0.3333"}, Part(milli=334, cores=334)),
        ({f"{OURS}memory": "20Gi"}, Part(memory=20 * 2**30)),
        ({f"{OURS}memory": "8Gi", f"{OURS}devices": "8"}, Part(8, memory=8 * 2**30)),
        ({"gpu-fraction": "0.6"}, Part(milli=600, cores=600)),
        ({"gpu-fraction": "0.5", "gpu-fraction-num-devices": "4"}, Part(4, milli=500, cores=500)),
        ({"gpu-memory": "2048"}, Part(memory=2048 * MIB)),
        ({f"{OURS}fraction": "0.5", "gpu-fraction": "0.7"}, Part(milli=500, cores=500)),
    ],
)
def test_a_pod_asks_for_a_fraction_or_for_memory_of_one_gpu_or_of_several(
    annotations: dict[str, str], part: Part
) -> None:
    found = task(annotations)
    assert (found.part, found.hold) == (part, None)
    assert found.part_field == FIELD(next(iter(annotations)))


FRACTION = "allowed is a number above 0 and below 1, such as 0.5"
COUNT = "allowed is a whole number from 1 to 99"
MEBIBYTES = "allowed is a whole number of MiB, at least 1"


@pytest.mark.parametrize(
    ("annotations", "key", "message"),
    [
        *(({key: value}, key, f"found '{value}', {FRACTION}")
          for key in (f"{OURS}fraction", "gpu-fraction")
          for value in ("0", "1", "1.5", "half", "NaN", "0.0", "-0.5", "5e-1", "")),
        ({f"{OURS}memory": "20"}, f"{OURS}memory",
         "found '20', allowed is a whole number with a unit, such as 40Gi or 40960Mi"),
        *(({"gpu-memory": value}, "gpu-memory", f"found '{value}', {MEBIBYTES}") for value in ("0", "20Gi", "-1")),
        ({f"{OURS}fraction": "0.5", f"{OURS}memory": "1Gi"}, f"{OURS}fraction",
         f"contradicts {FIELD(f'{OURS}memory')}: allowed is one of them"),
        ({"gpu-fraction": "0.5", "gpu-memory": "100"}, "gpu-fraction",
         f"contradicts {FIELD('gpu-memory')}: allowed is one of them"),
        ({f"{OURS}devices": "2"}, f"{OURS}devices",
         f"means nothing without {FIELD(f'{OURS}fraction')} or {FIELD(f'{OURS}memory')}"),
        *(({"gpu-fraction": "0.5", "gpu-fraction-num-devices": value}, "gpu-fraction-num-devices",
           f"found '{value}', {COUNT}") for value in ("0", "1.5", "100", "two")),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_line(annotations: dict[str, str], key: str, message: str) -> None:
    found = seen(annotations)
    assert isinstance(found, Refused)
    assert (found.field, found.message) == (FIELD(key), message)


def test_a_part_and_a_whole_gpu_contradict_each_other() -> None:
    found = seen({f"{OURS}fraction": "0.5"}, gpus="2")
    assert isinstance(found, Refused)
    contradiction = "contradicts the request for 2 nvidia.com/gpu: allowed is one of them"
    assert (found.field, found.message) == (FIELD(f"{OURS}fraction"), contradiction)


def test_a_pod_on_a_node_whose_part_cannot_be_read_has_the_gpu_for_itself() -> None:
    found = task({"gpu-fraction": "half"}, node="n1")
    assert found.part == Part(milli=WHOLE, cores=WHOLE)
    assert found.hold is not None


@pytest.mark.parametrize(
    ("annotations", "labels", "groups"),
    [
        ({f"{OURS}fraction": "0.5", f"{OURS}group": "3"}, {}, ("3",)),
        ({f"{OURS}fraction": "0.5", f"{OURS}group": "0,1"}, {}, ("0", "1")),
        ({"gpu-fraction": "0.5"}, {"runai-gpu-group": "f3"}, ("f3",)),
        ({"gpu-fraction": "0.5"}, {"runai-gpu-group/b": "b", "runai-gpu-group/a": "a"}, ("a", "b")),
        ({"gpu-fraction": "0.5"}, {}, ()),
    ],
)
def test_who_shares_a_gpu_carries_the_id_of_its_group(
    annotations: dict[str, str], labels: dict[str, str], groups: tuple[str, ...]
) -> None:
    assert task(annotations, node="n1", labels=labels).groups == groups


def test_an_id_of_a_group_that_cannot_be_one_holds_the_pod() -> None:
    found = task({f"{OURS}fraction": "0.5", f"{OURS}group": "0,"})
    assert (
        str(found.hold)
        == f"{FIELD(f'{OURS}group')}: found '0,', allowed is ids with commas between them, such as 0 or 0,1"
    )


def test_a_pod_that_reserves_a_gpu_for_others_names_their_group() -> None:
    """In KAI it holds the whole device, so that the kubelet gives it to nobody else."""
    found = task({}, node="n1", gpus="1", labels={"runai-gpu-group": "f3"}, scheduler="default-scheduler")
    assert (found.part, found.groups, found.ours) == (None, ("f3",), False)

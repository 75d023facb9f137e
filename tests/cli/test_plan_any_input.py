"""Whatever stands in a manifest, the answer is a plan or a message: never a fault of ours."""

import copy
import json
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from phalanx.loop import Loop
from phalanx.policy.load import load_policy
from phalanx.sim.cycles import first_now, play
from phalanx.sim.manifests import Manifests, decode
from phalanx.sim.objects import read_objects
from phalanx.world.world import World

CORPUS = Path(__file__).parents[1] / "corpus"
POLICY = load_policy("default")
MANIFESTS = """
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {zone: a}}
spec: {unschedulable: false, taints: [{key: a, value: b, effect: PreferNoSchedule}]}
status: {allocatable: {cpu: "8", memory: 32Gi, pods: "110", nvidia.com/gpu: "2"}, conditions: [{type: Ready}]}
---
apiVersion: v1
kind: Pod
metadata:
  name: a
  namespace: ml
  uid: u1
  creationTimestamp: "2026-11-01T11:00:00Z"
  deletionTimestamp: "2026-11-01T12:00:00Z"
  annotations: {phalanx.dev/gang: g, phalanx.dev/minimum: "1"}
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: u9, controller: true}]
spec:
  schedulerName: phalanx
  nodeName: n1
  priority: 5
  containers: [{name: main, ports: [{hostPort: 80}], resources: {requests: {cpu: 500m}, limits: {memory: 1Gi}}}]
status: {phase: Running, startTime: "2026-11-01T12:30:00Z"}
---
apiVersion: batch/v1
kind: Job
metadata: {name: pair, namespace: ml, creationTimestamp: "2026-11-01T12:00:00Z"}
spec:
  parallelism: 2
  completions: 2
  suspend: false
  template:
    metadata:
      labels: {app: x}
      annotations:
        phalanx.dev/gang: pair
        phalanx.dev/minimum: "2"
        phalanx.dev/subgroup: s
        phalanx.dev/subgroup-minimum: "1"
    spec:
      schedulerName: phalanx
      priorityClassName: gold
      runtimeClassName: kata
      tolerations: [{key: a, operator: Exists}]
      nodeSelector: {zone: a}
      initContainers: [{name: first, restartPolicy: Always, resources: {requests: {cpu: 1}}}]
      containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]
status: {succeeded: 0, conditions: []}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: gold}, value: 9, globalDefault: true}
---
{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: kata}, overhead: {podFixed: {cpu: 1m}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: ml, labels: {phalanx.dev/queue: q}}}
"""
OBJECTS: list[dict[str, Any]] = list(yaml.safe_load_all(MANIFESTS))

ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
    | st.sampled_from(["1e30", "-1", "Gi", "", "Always", "2026-11-01T12:00:00Z", "9" * 5000, "\u202e\0", 2**63, -1]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the way to every value inside a value."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    return [path, *(inner for key in keys for inner in paths(value[key], (*path, key)))]


PATHS = [path for path in paths(OBJECTS) if len(path) > 1]


@given(st.lists(st.tuples(st.sampled_from(PATHS), ODD), min_size=1, max_size=3))
def test_objects_with_anything_anywhere_are_planned_or_refused(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    objects = copy.deepcopy(OBJECTS)
    for path, value in changes:
        put(objects, path, value)
    plan_of(json.dumps(objects).encode())


def put(holder: Any, path: tuple[Any, ...], value: Any) -> None:
    """Replace the value at the end of a path, unless an earlier change has cut the path off."""
    key, *rest = path
    there = key in (holder if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ())
    if there and rest:
        put(holder[key], tuple(rest), value)
    elif there:
        holder[key] = value


def plan_of(data: bytes) -> None:
    manifests = Manifests()
    decode(b'{"kind": "List", "items": ' + data + b"}", "x.json", manifests)
    objects = read_objects(manifests.documents, POLICY.scheduler_names)
    world = World(POLICY.label_keys)
    for event in objects.events:
        world.apply(event)
    assert len(list(play(Loop(world, POLICY), first_now(world), 2))) == 2
    assert all(str(one) == str(one).splitlines()[0] for one, _ in objects.refused)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_documents_or_lines(data: bytes) -> None:
    for name in ("x.yaml", "x.json"):
        manifests = Manifests()
        decode(data, name, manifests)
        assert manifests.documents or manifests.problems


@given(st.sampled_from(sorted(CORPUS.glob("*.yaml"))), st.integers(0, 600), st.integers(0, 40), st.binary(max_size=6))
def test_a_manifest_with_a_hole_in_it_is_documents_or_lines(file: Path, at: int, size: int, instead: bytes) -> None:
    data, manifests = file.read_bytes(), Manifests()
    decode(data[:at] + instead + data[at + size :], "x.yaml", manifests)
    read_objects(manifests.documents, POLICY.scheduler_names)
    assert all(len(line.splitlines()) == 1 for line in manifests.problems)

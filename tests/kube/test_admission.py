"""The admission policies on a real API server: what it refuses reads as our own reader, and what it takes we take."""

import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from phalanx.dialects.read import read
from phalanx.kube.install import Installation
from phalanx.kube.local.control_plane import ControlPlane
from phalanx.kube.local.versions import wanted
from phalanx.model.events import Refused, TaskSeen
from phalanx.model.keys import GANG, KEYS, MINIMUM, PREFIX, QUEUE, Value, annotation
from phalanx.testing.control_plane import LocalError
from phalanx.testing.objects import pod_manifest
from phalanx.testing.running import eventually
from tests.kube.admission_cluster import OURS, REFUSED, applied, policies, said_of, with_policies
from tests.kube.admission_table import TABLE, Manifest, of, pod

pytestmark = pytest.mark.slow

KINDS = "validatingadmissionpolicies,validatingadmissionpolicybindings"


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with with_policies() as running:
        yield running


def test_each_of_these_is_refused_with_its_line_or_taken(plane: ControlPlane) -> None:
    objects = [one for _, one, _ in TABLE]
    found = dict(zip((what for what, _, _ in TABLE), said_of(plane, objects), strict=True))
    assert len(found) >= 40
    assert found == {what: said for what, _, said in TABLE}


VALUES = {
    Value.NAME: ["train", "a.b-c", "A", "-a", "a-", "a" * 64, "x" * 254, "a..b", "a.-b", "9"],
    Value.COUNT: ["1", "2", "0", "-1", "1.0", " 1", "2147483647", "2147483648", "99999999999", "01", "",
                  "\u0660", "0000000001"],
    Value.DURATION: [
        "0", "0s", "90", "1.5", "1h30m", "10ms", "5µs", "5us", "5μs", "1d", "-5s", "87600h", "87601h", "315360000",
        "315360001", "999999999999999h", "1h 30m", "5.", "1.5.2h", ".5h", "1" * 70, "1m5ms3s", "", "10m\n", "0.0",
    ],
    Value.FLAG: ["true", "false", "True", "", "it's", "back\\slash", "line\nbreak", "é", "y" * 59, "y" * 61, "y" * 200],
    Value.LEVEL: ["rack", "example.com/zone", "-", "a/", "", "a b", "z" * 317, "z" * 318, "_a"],
    Value.LABEL: ["team", "team=a", "example.com/team=a", "=a", "team=", "", "a b", "a=b=c", "-a", "team=-a", "A/b/c",
                  "x" * 63, "x" * 64, "t=" + "y" * 63, "t=" + "y" * 64, "team\n", "é=a"],
    Value.MODELS: ["H100", "H100,A100", "H100, A100=1.5", "NVIDIA H100=2", "", ",", "H100,", "A100=", "A100=-1", "=1",
                   "H100=1.2345", ",".join(["T4"] * 16), ",".join(["T4"] * 17), "x" * 64, "H100\n"],
    Value.MEMORY: ["40Gi", "40", "0Gi", "040Gi", "40gb", "40G", "40.5Gi", "-4Gi", "99999999Gi", "512Mi", "", "4Ei"],
    Value.FRACTION: ["0.5", ".5", "0.333333", "0", "1", "1.5", "half", "NaN", "-0.5", "0.0", "0.", "5e-1", "", "0.5 "],
    Value.DEVICE_COUNT: ["1", "8", "99", "100", "0", "-1", "01", "two", ""],
    Value.TOGETHER: ["link", "numa", "link,numa", "numa,link", "link,link", "Link", "", "rack", "link, numa"],
    Value.GROUPS: ["0", "0,1", "f3-a", "", ",", "0,", "a b"],
}  # fmt: skip
VALUES[Value.SPAN] = VALUES[Value.DURATION]
LABELS = ["team-a", "Team_A", "a.b", "", "A"]
WRONG = ["minimun", "gnag", "owner", "Minimum", "scheduler-name", "queue", "a", "preempt", "subgroup-min", "zzz"]


def drawn(chance: random.Random) -> Manifest:
    """A pod with some keys of ours and, more often than not, something wrong with them."""
    annotations = {GANG: "g", MINIMUM: "2"} if chance.random() < 0.8 else {}
    labels = {}
    for key in chance.sample([one for one in KEYS if "Pod" in one.on], chance.choice([0, 1, 1, 1, 2])):
        if key.place == "label":
            labels[key.key] = chance.choice(LABELS)
        else:
            annotations[key.key] = chance.choice(VALUES[key.value])
    if chance.random() < 0.15:
        (annotations if chance.random() < 0.6 else labels)[PREFIX + chance.choice(WRONG)] = "x"
    # A part of a GPU beside a whole one is wrong too, but of that the policies know nothing.
    made = pod_manifest("p", requests={"cpu": "1"})
    made["metadata"] |= {"annotations": annotations, "labels": labels}
    return made


def our_word(document: Manifest) -> str:
    """What our own reader says of a pod's keys."""
    event = read(document, ["phalanx"])
    if isinstance(event, Refused):
        return f"{event.field}: {event.message}"
    assert isinstance(event, TaskSeen)
    hold, membership = event.task.hold, event.task.membership
    if hold is not None and hold.message != "not honoured by this version":
        return f"{hold.field}: {hold.message}"
    if membership is not None and membership.minimum is None:
        return f"{annotation(MINIMUM)}: required with a gang, missing"
    return ""


def of_a_gang(document: Manifest) -> Manifest:
    """The same pod in a gang, if it is in none: some keys are read there alone, and are wrong all the same."""
    metadata = document["metadata"]
    return document | {"metadata": metadata | {"annotations": {GANG: "g", MINIMUM: "1"} | metadata["annotations"]}}


def test_the_policies_and_our_reader_agree_about_any_pod(plane: ControlPlane) -> None:
    objects = [drawn(random.Random(number)) for number in range(400)]  # noqa: S311
    expected = [our_word(one) or (GANG not in one["metadata"]["annotations"] and our_word(of_a_gang(one))) or ""
                for one in objects]  # fmt: skip
    found = said_of(plane, objects)
    differ = [(one["metadata"], ours, theirs) for one, ours, theirs in zip(objects, expected, found, strict=True)
              if bool(ours) != bool(theirs)]  # fmt: skip
    assert differ == []
    assert 0.3 < sum(map(bool, found)) / len(found) < 0.9


def test_what_stood_there_before_can_still_be_scaled_and_cleaned_up(plane: ControlPlane) -> None:
    """A policy judges what somebody writes now."""
    plane.kubectl("create", "namespace", "old")
    bound = "validatingadmissionpolicybinding/keys.phalanx.phalanx-system.phalanx.dev"
    binding = plane.kubectl("get", bound, "-o", "json")
    plane.kubectl("delete", bound)
    wrong = of("Deployment", 1, gnag="g")
    # Its controller writes annotations of its own there.
    wrong["metadata"] |= {"namespace": "old", "annotations": {GANG: "g"}}
    probe = [of("Job", 1, gnag="g")]
    eventually("the policy is off", lambda: said_of(plane, probe) == [""])
    plane.kubectl("apply", "-f", "-", stdin=applied([wrong]))
    plane.kubectl("create", "-f", "-", stdin=binding)
    eventually("the policy is on", lambda: said_of(plane, probe) != [""])
    plane.kubectl("annotate", "deployment/made", "-n", "old", "note=1")
    plane.kubectl("scale", "deployment/made", "-n", "old", "--replicas=2")
    count = "{.status.replicas}"
    eventually(
        "its controller goes on",
        lambda: plane.kubectl("get", "deployment/made", "-n", "old", "-o", f"jsonpath={count}") == "2",
    )
    patch = '{"spec":{"template":{"metadata":{"annotations":{"phalanx.dev/patience":"soon"}}}}}'
    with pytest.raises(LocalError, match=r"spec\.template\.metadata\.annotations\[phalanx\.dev/gnag\]: unknown key"):
        plane.kubectl("patch", "deployment/made", "-n", "old", "-p", patch)
    plane.kubectl("delete", "namespace", "old", "--wait=false")


def test_queue_gang_and_preemptibility_of_a_pod_on_a_node_stay(plane: ControlPlane) -> None:
    """One that still waits may be put elsewhere."""
    waits, runs = (pod_manifest(name, gang="g", node=node) for name, node in (("waits", None), ("runs", "n1")))
    waits["metadata"]["labels"] = runs["metadata"]["labels"] = {QUEUE: "nowhere"}
    plane.kubectl("create", "-f", "-", stdin=applied([waits, runs]))
    label = "metadata.labels[phalanx.dev/queue]: "
    for command, arguments, said in (
        ("label", [f"{QUEUE}=b"], f"{label}found 'b', allowed is 'nowhere' while the pod is on a node"),
        ("label", [f"{QUEUE}-"], f"{label}missing, allowed is 'nowhere' while the pod is on a node"),
        ("annotate", [f"{GANG}=h"], f"{annotation(GANG)}: found 'h', allowed is 'g' while the pod is on a node"),
        ("annotate", [f"{PREFIX}preemptible=false"],
         f"{annotation(PREFIX + 'preemptible')}: found 'false', allowed is none while the pod is on a node"),
    ):  # fmt: skip
        plane.kubectl(command, "pod/waits", "--overwrite", *arguments)
        with pytest.raises(LocalError) as refusal:
            plane.kubectl(command, "pod/runs", "--overwrite", *arguments)
        assert str(refusal.value).partition(REFUSED)[2] == said
    plane.kubectl("label", "pod/runs", "tier=1")
    plane.kubectl("delete", "pod", "waits", "runs", "--grace-period=0", "--force")


@pytest.mark.skipif(wanted() == "1.35", reason="Kubernetes 1.35 has no policies that change objects")
def test_a_namespace_gives_its_pods_our_scheduler_and_its_queue(plane: ControlPlane) -> None:
    labels = {"phalanx.dev/scheduler-name": "phalanx", QUEUE: "team-a"}
    home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml", "labels": labels}}
    plane.kubectl("apply", "-f", "-", stdin=applied([home]))
    in_kube_system = '{"metadata":{"labels":{"phalanx.dev/scheduler-name":"phalanx"}}}'
    plane.kubectl("patch", "namespace", "kube-system", "-p", in_kube_system)
    daemon: dict[str, Any] = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}

    def given(one: Manifest, namespace: str = "ml") -> tuple[str, str | None]:
        one["metadata"]["namespace"] = namespace
        text = plane.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", stdin=applied([one]))
        made = msgspec.json.decode(text)
        return made["spec"]["schedulerName"], made["metadata"].get("labels", {}).get(QUEUE)

    def plain(**more: Any) -> Manifest:
        one = pod_manifest("p", scheduler="default-scheduler", **more)
        del one["spec"]["schedulerName"]
        return one

    eventually("the label is seen", lambda: given(plain()) == ("phalanx", "team-a"))
    other, owned = plain(), plain()
    other["spec"]["schedulerName"] = "volcano"
    owned["metadata"]["ownerReferences"] = [daemon]
    assert given(other) == ("volcano", None)
    assert given(owned) == ("default-scheduler", None)
    assert given(plain(node="n1")) == ("default-scheduler", None)
    assert given(pod("default-scheduler", {"queue": "mine"})) == ("phalanx", "mine")
    assert given(plain(), "default") == ("default-scheduler", None)
    assert given(plain(), "kube-system") == ("default-scheduler", None)
    slip = of("Job", 1, gnag="g")
    slip["metadata"]["namespace"] = "ml"
    slip["spec"]["template"]["spec"].pop("schedulerName")
    field = "spec.template.metadata.annotations[phalanx.dev/gnag]"
    assert said_of(plane, [slip]) == [f"{field}: unknown key phalanx.dev/gnag, did you mean phalanx.dev/gang"]
    plane.kubectl("delete", "serviceaccount", OURS.name, "-n", OURS.namespace)
    eventually("without the scheduler nobody is given to it", lambda: given(plain()) == ("default-scheduler", None))
    plane.kubectl("delete", "namespace", "ml", "--wait=false")


@pytest.mark.skipif(wanted() == "1.35", reason="Kubernetes 1.35 has no policies that change objects")
def test_a_pod_that_shares_a_gpu_is_given_the_line_by_which_it_learns_which_one(plane: ControlPlane) -> None:
    # The test before took the service account away, without which nothing is given.
    plane.kubectl("create", "serviceaccount", OURS.name, "-n", OURS.namespace)
    line = {
        "name": "NVIDIA_VISIBLE_DEVICES",
        "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.annotations['phalanx.dev/gpu-ids']"}},
    }

    def given(
        annotations: dict[str, str], env: list[Any] | None = None, scheduler: str = "phalanx"
    ) -> list[Any] | None:
        one = pod_manifest("p", requests={"cpu": "1"}, scheduler=scheduler)
        one["metadata"]["annotations"] = annotations
        if env is not None:
            one["spec"]["containers"][0]["env"] = env
        text = plane.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", stdin=applied([one]))
        found: list[Any] | None = msgspec.json.decode(text)["spec"]["containers"][0].get("env")
        return found

    ours = {"phalanx.dev/gpu-fraction": "0.5"}
    eventually("the service account is seen", lambda: given(ours) == [line])
    assert given({"phalanx.dev/gpu-memory": "20Gi"}) == [line]
    assert given({"gpu-fraction": "0.5"}) == given({"gpu-memory": "2048"}) == [line]
    mine = {"name": "MINE", "value": "yes"}
    assert given(ours, [mine]) == [mine, line]
    # Left alone: who says it already, whom KAI's webhook prepared, who asks for no part, and other schedulers' pods.
    own = {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}
    assert given(ours, [own]) == [own]
    assert given({"gpu-fraction": "0.5", "runai/shared-gpu-configmap": "p-shared-gpu"}) is None
    assert given({}) is None
    assert given({"gpu-fraction": "0.5"}, scheduler="kai-scheduler") is None


def test_all_of_it_goes_with_one_line_and_leaves_another_installation_alone(plane: ControlPlane) -> None:
    """Last in this file: it takes the policies away."""
    theirs = Installation("other", "other-system")
    plane.kubectl("apply", "-f", "-", stdin=applied(policies(plane.version, theirs)))
    kinds = KINDS + (",mutatingadmissionpolicies,mutatingadmissionpolicybindings" if plane.version != "1.35" else "")
    whose = f"app.kubernetes.io/name={OURS.name},app.kubernetes.io/instance={OURS.namespace}"
    plane.kubectl("delete", kinds, "-l", f"app.kubernetes.io/component=admission,{whose}")
    left = plane.kubectl("get", kinds, "-o", "name").split()
    assert len(left) == len(policies(plane.version, theirs))
    assert all(".other-system." in name for name in left)
    # A namespace is nobody's in particular: the other installation goes on judging its labels.
    refused = [one for _, one, said in TABLE if said and one["kind"] != "Namespace"]
    eventually("none of these is refused", lambda: not any(said_of(plane, refused)))

"""Volcano's Jobs: the PodGroup, pods and other objects that its controller makes of them, and what it refuses."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.dialects.dialect import Made
from phalanx.dialects.mistakes import NAME_ALLOWED, FieldError
from phalanx.dialects.volcano.jobs import made_of

TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "x"}]}}
OWNER = {
    "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "train", "uid": "j-1", "controller": True,
    "blockOwnerDeletion": True,
}  # fmt: skip


def task(name: str = "worker", replicas: int = 1, **more: Any) -> dict[str, Any]:
    return {"name": name, "replicas": replicas, "template": TEMPLATE, **more}


def job(*tasks: dict[str, Any], status: Any = None, meta: Any = None, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "train", "namespace": "ml", "uid": "j-1", **(meta or {})}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": metadata,
        "spec": {"tasks": list(tasks), **spec}, "status": status or {},
    }  # fmt: skip


def of_kind(made: list[Made], kind: str) -> list[dict[str, Any]]:
    return [one.object for one in made if one.object["kind"] == kind]


def env(pod: dict[str, Any], *names: str) -> dict[str, Any]:
    variables = {one["name"]: one.get("value") for one in pod["spec"]["containers"][0].get("env", ())}
    return {name: variables[name] for name in names} if names else variables


def test_a_job_becomes_a_pod_group_and_pods_named_and_marked_as_its_controller_does() -> None:
    template = {
        "metadata": {"labels": {"app": "t"}, "annotations": {"note": "n", "volcano.sh/task-index": "overwritten"}},
        **TEMPLATE,
    }  # fmt: skip
    meta = {
        "annotations": {"volcano.sh/preemptable": "false", "mine": "x"}, "labels": {"team": "a"},
        "creationTimestamp": "2026-11-01T12:00:00Z",
    }  # fmt: skip
    made = made_of(job({**task(replicas=1), "template": template}, meta=meta, priorityClassName="high", queue="q"))
    group, pod = made
    when = "2026-11-01T12:00:00Z"
    assert group == Made(
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
            "metadata": {
                "namespace": "ml", "ownerReferences": [OWNER], "name": "train-j-1", "annotations": meta["annotations"],
                "labels": {"team": "a"}, "creationTimestamp": when,
            },
            "spec": {"minMember": 1, "minTaskMember": {"worker": 1}, "queue": "q", "priorityClassName": "high"},
        },
        "spec.",
    )  # fmt: skip
    assert pod == Made(
        {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "namespace": "ml", "ownerReferences": [OWNER], "name": "train-worker-0", "creationTimestamp": when,
                "uid": "Pod/ml/train-worker-0",
                "annotations": {
                    "note": "n", "volcano.sh/task-index": "0", "volcano.sh/task-spec": "worker",
                    "scheduling.k8s.io/group-name": "train-j-1", "volcano.sh/job-name": "train",
                    "volcano.sh/queue-name": "q", "volcano.sh/job-version": "0",
                    "volcano.sh/template-uid": "train-worker", "volcano.sh/job-retry-count": "0",
                    "volcano.sh/preemptable": "false",
                },
                "labels": {
                    "app": "t", "volcano.sh/task-index": "0", "volcano.sh/job-name": "train",
                    "volcano.sh/task-spec": "worker", "volcano.sh/job-namespace": "ml", "volcano.sh/queue-name": "q",
                },
            },
            "spec": {
                "containers": [{"name": "main", "image": "x"}], "schedulerName": "volcano",
                "priorityClassName": "high",
            },
        },
        "spec.tasks[0].template.",
    )  # fmt: skip


def test_what_is_left_out_is_filled_in_as_by_the_webhook() -> None:
    """Names of tasks, minimums, queue, scheduler; a file without a uid has a group of the Job's name."""
    made = made_of(job({"replicas": 2, "template": TEMPLATE}, task("b", 3, minAvailable=1), meta={"uid": "Job/ml/t"}))
    group = made[0].object
    assert group["metadata"]["name"] == "train"
    assert group["spec"] == {"minMember": 3, "minTaskMember": {"default0": 2, "b": 1}, "queue": "default"}
    names = [pod["metadata"]["name"] for pod in of_kind(made, "Pod")]
    assert names == [f"train-default0-{index}" for index in range(2)] + [f"train-b-{index}" for index in range(3)]


def test_tasks_that_wait_for_others_have_no_pods_yet_and_a_job_that_is_over_makes_nothing() -> None:
    made = made_of(job(task("a"), task("b", 2, dependsOn={"name": ["a"]})))
    assert [pod["metadata"]["name"] for pod in of_kind(made, "Pod")] == ["train-a-0"]
    for phase in ("Completed", "Failed", "Aborted", "Terminated", "Aborting", "Completing", "Terminating"):
        assert made_of(job(task(), status={"state": {"phase": phase}})) == []
    assert len(made_of(job(task(), status={"state": {"phase": "Pending"}}))) == 2


def test_svc_names_pods_in_the_network_and_env_numbers_them() -> None:
    made = made_of(job(task("ps"), task("tf-worker", 2), plugins={"svc": [], "env": []}))
    (table,), (service,), (rule,) = (of_kind(made, kind) for kind in ("ConfigMap", "Service", "NetworkPolicy"))
    assert table["metadata"]["name"] == "train-svc"
    assert table["data"] == {
        "ps.host": "train-ps-0.train", "VC_PS_HOSTS": "train-ps-0.train", "VC_PS_NUM": "1",
        "tf_worker.host": "train-tf-worker-0.train\ntrain-tf-worker-1.train",
        "VC_TF_WORKER_HOSTS": "train-tf-worker-0.train,train-tf-worker-1.train", "VC_TF_WORKER_NUM": "2",
    }  # fmt: skip
    own = {"volcano.sh/job-name": "train", "volcano.sh/job-namespace": "ml"}
    assert service["spec"] == {"clusterIP": "None", "selector": own}
    assert rule["spec"]["podSelector"] == {"matchLabels": own}
    last = of_kind(made, "Pod")[-1]
    assert (last["spec"]["hostname"], last["spec"]["subdomain"]) == ("train-tf-worker-1", "train")
    assert last["spec"]["volumes"] == [{"name": "train-svc", "configMap": {"name": "train-svc"}}]
    assert env(last, "VC_TASK_INDEX", "VK_TASK_INDEX") == {"VC_TASK_INDEX": "1", "VK_TASK_INDEX": "1"}
    assert {"VC_PS_HOSTS", "VC_PS_NUM", "VC_TF_WORKER_HOSTS", "VC_TF_WORKER_NUM"} <= env(last).keys()
    quiet = made_of(job(task(), plugins={"svc": ["--disable-network-policy=true", "--publish-not-ready-addresses"]}))
    assert (of_kind(quiet, "NetworkPolicy"), of_kind(quiet, "Service")[0]["spec"]["publishNotReadyAddresses"]) == (
        [], True,
    )  # fmt: skip


def test_pytorch_tells_who_the_master_is_and_each_its_rank() -> None:
    arguments = ["--master=boss", "-port", "29500", "--wait-master-enabled"]
    made = made_of(job(task("boss"), task("worker", 2), task("eval"), plugins={"pytorch": arguments, "hcclrank": []}))
    boss, _, worker, other = of_kind(made, "Pod")
    shared = {"MASTER_ADDR": "train-boss-0.train", "MASTER_PORT": "29500", "WORLD_SIZE": "3"}
    assert env(boss, *shared, "RANK") == {**shared, "RANK": "0"}
    assert env(worker, *shared, "RANK") == {**shared, "RANK": "2"}
    assert "RANK" not in env(other)
    assert worker["spec"]["containers"][0]["ports"] == [{"name": "pytorchjob-port", "containerPort": 29500}]
    assert [one["name"] for one in worker["spec"]["initContainers"]] == ["wait-for-master"]
    assert "initContainers" not in boss["spec"]
    assert worker["metadata"]["annotations"]["hccl/rankIndex"] == "2"
    assert of_kind(made, "Service"), "the plugin svc comes with it"


def test_tensorflow_describes_the_cluster_and_a_single_pod_needs_none() -> None:
    made = made_of(job(task("ps"), task("worker", 2), plugins={"tensorflow": []}))
    text = env(of_kind(made, "Pod")[2])["TF_CONFIG"]
    workers = ["train-worker-0.train:2222", "train-worker-1.train:2222"]
    assert json.loads(text) == {
        "cluster": {"ps": ["train-ps-0.train:2222"], "worker": workers},
        "task": {"type": "worker", "index": 1},
    }  # fmt: skip
    alone = made_of(job(task("worker"), plugins={"tensorflow": []}))
    assert "TF_CONFIG" not in env(of_kind(alone, "Pod")[0])


def test_mpi_tells_the_master_its_workers_and_brings_keys_and_names() -> None:
    made = made_of(job(task("master"), task("worker", 2), plugins={"mpi": []}))
    master, worker, _ = of_kind(made, "Pod")
    assert env(master)["MPI_HOST"] == "train-worker-0.train,train-worker-1.train"
    assert "MPI_HOST" not in env(worker)
    assert worker["spec"]["containers"][0]["ports"] == [{"name": "mpijob-port", "containerPort": 22}]
    assert [volume["name"] for volume in worker["spec"]["volumes"]] == ["train-svc", "train-ssh"]


def test_ray_starts_the_head_and_the_workers() -> None:
    tasks = [task(name, template={"spec": {"containers": [{"name": name}]}}) for name in ("head", "worker")]
    made = made_of(job(*tasks, plugins={"ray": ["--port=7000"]}))
    head, worker = of_kind(made, "Pod")
    assert head["spec"]["containers"][0]["command"][2].startswith("ray start --head --block ")
    assert [port["containerPort"] for port in head["spec"]["containers"][0]["ports"]] == [7000, 8265, 10001]
    start = "ray start --block --address=train-head-0.train:7000"
    assert worker["spec"]["containers"][0]["command"] == ["sh", "-c", start]
    assert [one["metadata"]["name"] for one in of_kind(made, "Service")] == ["train", "train-head-svc"]


def test_volumes_are_mounted_in_every_pod_and_claims_are_made() -> None:
    volumes = [{"mountPath": "/a", "volumeClaimName": "mine"}, {"mountPath": "/b", "volumeClaim": {"x": 1}}]
    made = made_of(job(task(), volumes=volumes))
    (claim,), (pod,) = of_kind(made, "PersistentVolumeClaim"), of_kind(made, "Pod")
    assert claim["metadata"]["name"].startswith("train-pvc-")
    claims = [volume["persistentVolumeClaim"]["claimName"] for volume in pod["spec"]["volumes"]]
    assert claims == ["mine", claim["metadata"]["name"]]
    assert [mount["mountPath"] for mount in pod["spec"]["containers"][0]["volumeMounts"]] == ["/a", "/b"]


def test_partitions_label_pods_and_describe_the_group() -> None:
    parts = {"totalPartitions": 2, "partitionSize": 2, "minPartitions": 1, "networkTopology": {"highestTierAllowed": 1}}
    made = made_of(job(task(replicas=4, partitionPolicy=parts)))
    assert [pod["metadata"]["labels"]["volcano.sh/partition-id"] for pod in of_kind(made, "Pod")] == [
        "0",
        "0",
        "1",
        "1",
    ]
    spec = made[0].object["spec"]
    assert (spec["minMember"], spec["subGroupPolicy"]) == (2, [{
        "name": "worker", "subGroupSize": 2, "minSubGroups": 1,
        "labelSelector": {"matchLabels": {"volcano.sh/task-spec": "worker"}},
        "matchLabelKeys": ["volcano.sh/partition-id"], "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
    }])  # fmt: skip


EVENTS = "*, PodFailed, PodEvicted, PodPending, Unknown, TaskCompleted, TaskFailed, JobUpdated"
ACTIONS = "AbortJob, RestartJob, RestartTask, RestartPod, RestartPartition, TerminateJob, CompleteJob, ResumeJob"
POLICY = {"event": "PodFailed", "action": "RestartJob"}


@pytest.mark.parametrize(
    ("broken", "field", "message"),
    [
        (job(), "spec.tasks", "found none, allowed is at least one"),
        (job({"name": "a", "replicas": 1}), "spec.tasks[0].template.spec", "missing"),
        (job(task("A")), "spec.tasks[0].name",
         "found 'A', allowed is at most 63 lower-case letters, digits and '-'"),
        (job(task(), task()), "spec.tasks[1].name", "found 'worker' again, allowed is a name that no other task has"),
        (job(task(replicas=-1)), "spec.tasks[0].replicas", "found -1, allowed is a whole number >= 0"),
        (job(task(minAvailable=2)), "spec.tasks[0].minAvailable", "found 2, allowed is at most its replicas, 1"),
        (job(task(), minAvailable=2), "spec.minAvailable", "found 2, allowed is at most the 1 pods of all tasks"),
        (job(task(), minSuccess=0), "spec.minSuccess", "found 0, allowed is a whole number >= 1"),
        (job(task(), maxRetry="x"), "spec.maxRetry", "found 'x', allowed is a whole number"),
        (job(task(), queue="A"), "spec.queue", f"found 'A', allowed is {NAME_ALLOWED}"),
        (job(task(), priorityClassName="A"), "spec.priorityClassName", f"found 'A', allowed is {NAME_ALLOWED}"),
        (job(task(), plugins={"horovod": []}), "spec.plugins.horovod",
         "unknown plugin, allowed is svc, ssh, env, tensorflow, mpi, pytorch, ray, hcclrank"),
        (job(task(), plugins={"svc": ["--publish"]}), "spec.plugins.svc",
         "found '--publish', allowed is --publish-not-ready-addresses, --disable-network-policy, --inject-hosts-env"),
        (job(task("master"), task(), plugins={"pytorch": ["--port=x"]}), "spec.plugins.pytorch",
         "found '--port=x', allowed is a whole number"),
        (job(task(), plugins={"mpi": []}), "spec.plugins.mpi", "--master: found 'master', allowed is worker"),
        (job(task(), plugins={"ray": []}), "spec.plugins.ray", "--head: found 'head', allowed is worker"),
        (job(task(), policies=[{"action": "RestartJob"}]), "spec.policies[0]",
         "found neither, allowed is exactly one of event, exitCode"),
        (job(task(), policies=[{**POLICY, "exitCode": 3}]), "spec.policies[0]",
         "found both, allowed is exactly one of event, exitCode"),
        (job(task(), policies=[{**POLICY, "event": "PodGone"}]), "spec.policies[0].event",
         f"found 'PodGone', allowed is {EVENTS}"),
        (job(task(policies=[POLICY, POLICY])), "spec.tasks[0].policies[1].event",
         "found 'PodFailed' again, allowed is each event once"),
        (job(task(), policies=[{**POLICY, "action": "Sleep"}]), "spec.policies[0].action",
         f"found 'Sleep', allowed is {ACTIONS}"),
        (job(task(), policies=[{"exitCode": 0, "action": "RestartJob"}]), "spec.policies[0].exitCode",
         "found 0, allowed is another than 0"),
        (job(task(), policies=[POLICY, {"event": "*", "action": "AbortJob"}]), "spec.policies",
         "found * beside other events, allowed is * alone"),
        (job(task("a", dependsOn={"name": ["b"]}), task("b", dependsOn={"name": ["a"]})), "spec.tasks[0].dependsOn",
         "found a circle of a, b, allowed is an order"),
        (job(task("a", dependsOn={"name": ["z"]})), "spec.tasks[0].dependsOn.name", "found 'z', allowed is a"),
        (job(task("a"), task("b", dependsOn={"name": ["a"], "iteration": "some"})), "spec.tasks[1].dependsOn.iteration",
         "found 'some', allowed is any, all"),
        (job(task(replicas=3, partitionPolicy={"totalPartitions": 2, "partitionSize": 2})), "spec.tasks[0].replicas",
         "found 3, allowed is 4, as partitionPolicy says"),
        (job(task(partitionPolicy={"partitionSize": 2})), "spec.tasks[0].partitionPolicy.totalPartitions", "missing"),
        (job(task(), volumes=[{"mountPath": "/a"}]), "spec.volumes[0]",
         "found neither, allowed is volumeClaimName or volumeClaim"),
        (job(task(), volumes=[{"volumeClaimName": "a"}]), "spec.volumes[0].mountPath", "missing"),
        (job(task(topologyPolicy="numa")), "spec.tasks[0].topologyPolicy",
         "found 'numa', allowed is none, best-effort, restricted, single-numa-node"),
        (job(task(), networkTopology={"mode": "near"}), "spec.networkTopology.mode",
         "found 'near', allowed is hard, soft"),
        (job(task("w" * 63)), "spec.tasks[0].name",
         f"its pods would be called train-{'w' * 63}-0, allowed is at most 63 characters"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_field(broken: dict[str, Any], field: str, message: str) -> None:
    with pytest.raises(FieldError) as caught:
        made_of(broken)
    assert (caught.value.field, caught.value.message) == (field, message)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=4))
def test_there_are_as_many_pods_as_replicas_each_named_once_and_the_group_never_asks_for_more(
    sizes: list[tuple[int, int]],
) -> None:
    tasks = [task(f"t{n}", count, minAvailable=min(least, count)) for n, (count, least) in enumerate(sizes)]
    made = made_of(job(*tasks))
    names = [pod["metadata"]["name"] for pod in of_kind(made, "Pod")]
    assert len(names) == len(set(names)) == sum(count for count, _ in sizes)
    assert made[0].object["spec"]["minMember"] <= len(names)

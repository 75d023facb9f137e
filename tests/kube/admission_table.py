"""Objects that people apply, and what the API server answers: a line, or nothing where it takes them."""

from typing import Any

from phalanx.dialects.mistakes import NAME_ALLOWED
from phalanx.model.keys import KEYS
from phalanx.testing.objects import pod_manifest

Manifest = dict[str, Any]

P = "phalanx.dev/"
NEEDS = "a duration such as 90s or 1h30m, of at most 10 years"
COUNT = "a whole number from 1 to 2147483647"
WORDS = ", ".join(one.word for one in KEYS if "Pod" in one.on and one.place == "annotation")


def meta(annotations: dict[str, str], labels: dict[str, str] | None = None) -> Manifest:
    return {
        "annotations": {P + key: value for key, value in annotations.items()},
        "labels": {"app": "a"} | {P + key: value for key, value in (labels or {}).items()},
    }


def pod(scheduler: str = "phalanx", labels: dict[str, str] | None = None, **annotations: str) -> Manifest:
    made = pod_manifest("p", scheduler=scheduler)
    given = {key.replace("_", "-"): value for key, value in annotations.items()}
    made["metadata"] |= meta(given, labels)
    return made


def gang(minimum: str = "2", **annotations: str) -> Manifest:
    return pod("phalanx", None, gang="g", minimum=minimum, **annotations)


def of(kind: str, count: int | None, labels: dict[str, str] | None = None, **annotations: str) -> Manifest:
    """An object that makes pods, with our annotations where people write them."""
    template = pod(labels=labels, **annotations)
    template = {"metadata": template["metadata"], "spec": template["spec"]}
    template["spec"].pop("terminationGracePeriodSeconds")
    head: Manifest = {"kind": kind, "metadata": {"name": "made", "namespace": "default"}}
    selector = {"matchLabels": {"app": "a"}}
    if kind in {"Job", "CronJob"}:
        template["spec"]["restartPolicy"] = "Never"
        job = {"template": template} | ({} if count is None else {"parallelism": count})
        spec = job if kind == "Job" else {"schedule": "0 0 * * *", "jobTemplate": {"spec": job}}
        return {"apiVersion": "batch/v1", **head, "spec": spec}
    if kind == "ReplicationController":
        return {"apiVersion": "v1", **head, "spec": {"replicas": count, "template": template}}
    scale = {} if kind == "DaemonSet" else {"replicas": count}
    more = {"serviceName": "a"} if kind == "StatefulSet" else {}
    return {"apiVersion": "apps/v1", **head, "spec": {"selector": selector, "template": template, **scale, **more}}


def carrying(made: Manifest, annotations: dict[str, str], labels: dict[str, str] | None = None) -> Manifest:
    """The same with keys of ours on the object itself."""
    made["metadata"] |= meta(annotations, labels)
    return made


def namespace(**labels: str) -> Manifest:
    given = {P + key.replace("_", "-"): value for key, value in labels.items()}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new", "labels": given}}


def on(key: str, said: str, at: str = "", place: str = "annotations") -> str:
    return f"{at}metadata.{place}[{P}{key}]: {said}"


ABOVE = f"allowed is at most {{}}; the parts of a gang of several objects are named with {P}subgroup"
PODS = "is read on pods only, allowed is"
JOB, CRON = "spec.template.", "spec.jobTemplate.spec.template."

TABLE: list[tuple[str, Manifest, str]] = [
    ("a pod without keys of ours", pod(), ""),
    ("a gang", gang(), ""),
    ("a gang with everything", gang(
        maximum="4", subgroup="workers", subgroup_minimum="1", start_timeout="5m", expected_runtime="1h30m",
        preemptible="false", topology_preferred="rack", patience="10m", movable="false"), ""),
    ("a letter slipped", pod(gang="g", minimun="2"), on("minimun", f"unknown key {P}minimun, did you mean {P}minimum")),
    ("two letters swapped", pod(gnag="g", minimum="2"), on("gnag", f"unknown key {P}gnag, did you mean {P}gang")),
    ("capitals", pod(gang="g", Minimum="2"), on("Minimum", f"unknown key {P}Minimum, did you mean {P}minimum")),
    ("another word", pod(owner="me"), on("owner", f"unknown key {P}owner, allowed under {P} are {WORDS}")),
    ("a queue as annotation", pod(queue="a"), on("queue", "is read as label only, not as annotation")),
    ("a gang as label", pod(labels={"gang": "g"}),
     on("gang", "is read as annotation only, not as label", place="labels")),
    ("a namespace's label on a pod", pod(labels={"scheduler-name": "phalanx"}),
     on("scheduler-name", "is read on a Namespace only, not on a Pod", place="labels")),
    ("a minimum of nothing", pod(minimum="2"), on("minimum", f"means nothing without {P}gang")),
    ("a gang without minimum", pod(gang="g"), on("minimum", "required with a gang, missing")),
    ("a minimum in words", gang("four"), on("minimum", f"found 'four', allowed is {COUNT}")),
    ("a minimum of none", gang("0"), on("minimum", f"found '0', allowed is {COUNT}")),
    ("a minimum beyond all", gang("2147483648"), on("minimum", f"found '2147483648', allowed is {COUNT}")),
    ("a maximum below", gang("4", maximum="2"),
     on("maximum", f"found 2, allowed is at least {P}minimum, which is 4")),
    ("a part without a name", gang(subgroup_minimum="1"),
     on("subgroup-minimum", f"found 1, allowed only with {P}subgroup")),
    ("a gang that is no name", pod(gang="My_Gang", minimum="2"),
     on("gang", f"found 'My_Gang', allowed is {NAME_ALLOWED}")),
    ("a flag in capitals", pod(preemptible="True"), on("preemptible", "found 'True', allowed is true, false")),
    ("a flag of many letters", pod(movable="y" * 200),
     on("movable", f"found '{'y' * 47}… (200 characters), allowed is true, false")),
    ("a flag that is no plain text", pod(movable="é\n"),
     on("movable", "found a text of 2 characters, not all of them plain, allowed is true, false")),
    ("a duration in days", gang(patience="1d"), on("patience", f"found '1d', allowed is {NEEDS}")),
    ("a duration without unit", gang(expected_runtime="90"), ""),
    ("a duration of eleven years", gang(patience="96360h"), on("patience", f"found '96360h', allowed is {NEEDS}")),
    ("a duration that no clock holds", gang(patience="999999999999999h"),
     on("patience", f"found '999999999999999h', allowed is {NEEDS}")),
    ("no time to start", gang(start_timeout="0s"), on("start-timeout", "found 0, allowed is more than zero")),
    ("a level with a blank", gang(topology_preferred="a rack"),
     on("topology-preferred", "found 'a rack', allowed is a node label key or the name of a level")),
    ("a queue that is no name", pod(labels={"queue": "Team_A"}),
     on("queue", f"found 'Team_A', allowed is {NAME_ALLOWED}", place="labels")),
    ("another scheduler's pod", pod("default-scheduler", minimun="2"), ""),
    ("a Job that fits", of("Job", 4, gang="g", minimum="4"), ""),
    ("a Job that is too small", of("Job", 2, gang="g", minimum="4"),
     on("minimum", f"found 4, {ABOVE.format('spec.parallelism, which is 2')}", JOB)),
    ("a Job of one by default", of("Job", None, gang="g", minimum="2"),
     on("minimum", f"found 2, {ABOVE.format('spec.parallelism, which is 1')}", JOB)),
    ("a Job that is one part of a gang", of("Job", 2, gang="g", minimum="4", subgroup="workers"), ""),
    ("a Job with a slip", of("Job", 2, gang="g", minimum="2", premptible="false"),
     on("premptible", f"unknown key {P}premptible, did you mean {P}preemptible", JOB)),
    ("a CronJob that is too small", of("CronJob", 1, gang="g", minimum="4"),
     on("minimum", f"found 4, {ABOVE.format('spec.jobTemplate.spec.parallelism, which is 1')}", CRON)),
    ("a Deployment that is too small", of("Deployment", 3, gang="g", minimum="4"),
     on("minimum", f"found 4, {ABOVE.format('spec.replicas, which is 3')}", JOB)),
    ("a Deployment of none for now", of("Deployment", 0, gang="g", minimum="4"), ""),
    ("a StatefulSet with a bad number", of("StatefulSet", 3, gang="g", minimum="1.5"),
     on("minimum", f"found '1.5', allowed is {COUNT}", JOB)),
    ("a ReplicaSet with a slip", of("ReplicaSet", 3, gang="g", minimu="3"),
     on("minimu", f"unknown key {P}minimu, did you mean {P}minimum", JOB)),
    ("a ReplicationController with a bad flag", of("ReplicationController", 1, movable="no"),
     on("movable", "found 'no', allowed is true, false", JOB)),
    ("a DaemonSet of a gang, however many nodes", of("DaemonSet", None, gang="g", minimum="64"), ""),
    ("a Job that carries the keys of its pods", carrying(of("Job", 2), {"gang": "g", "minimum": "2"}),
     on("gang", f"{PODS} {JOB}metadata.annotations")),
    ("a queue on a Deployment", carrying(of("Deployment", 2), {}, {"queue": "a"}),
     on("queue", f"{PODS} {JOB}metadata.labels", place="labels")),
    ("a queue as annotation of a CronJob", carrying(of("CronJob", 2), {"queue": "a"}),
     on("queue", f"{PODS} {CRON}metadata.labels")),
    ("a slip on a StatefulSet", carrying(of("StatefulSet", 2), {"gnag": "g"}),
     on("gnag", f"unknown key {P}gnag, did you mean {P}gang")),
    ("a Job with the keys of its pods on both", carrying(
        of("Job", 2, {"queue": "a"}, gang="g", minimum="2"), {"gang": "g"}, {"queue": "a"}), ""),
    ("a namespace with a slip", namespace(queu="a"),
     on("queu", f"unknown key {P}queu, did you mean {P}queue", place="labels")),
    ("a namespace with a queue that is no name", namespace(queue="Team_A"),
     on("queue", f"found 'Team_A', allowed is {NAME_ALLOWED}", place="labels")),
    ("a namespace with a queue and a scheduler", namespace(queue="team-a", scheduler_name="phalanx"), ""),
]  # fmt: skip

"""What becomes of each field of Volcano's objects. The page of the documentation is made from this table.

*honoured*: it does what it does there. *held*: nothing is placed against it, and the reason names it. *ignored*: it
changes nothing, and why. Whatever is of a wrong type or outside its range is refused with the field's name.
"""

from collections.abc import Mapping
from typing import NamedTuple

HONOURED, HELD, IGNORED = ("honoured", "held", "ignored")


class Field(NamedTuple):
    """One field."""

    path: str
    #: One of the three words.
    treatment: str
    text: str


def _rows(text: str) -> tuple[Field, ...]:
    return tuple(Field(*(part.strip() for part in line.split("|", 2))) for line in text.strip().splitlines())


_PODS = _rows("""
annotation scheduling.k8s.io/group-name | honoured | its PodGroup, in its own namespace, under any scheduler name of the policy. Without such an object the gang is held
annotation scheduling.volcano.sh/group-name | honoured | the same, where the first is absent
annotation or label volcano.sh/task-spec | honoured | its task, for `minTaskMember`
annotation scheduling.volcano.sh/queue-name | honoured | its queue, unless it is in a PodGroup, which says it
annotation or label volcano.sh/preemptable | honoured | `false`: it is not evicted for others, nor is the rest of its gang. In no gang it protects the pod alone
annotation scheduling.volcano.sh/group-min-member | honoured | of a pod with `schedulerName: volcano` in no PodGroup: how many of its owner's pods start together; else 1. With `--volcano-jobs` it is read on the owner too, as Volcano does; otherwise it belongs on the pods
annotation scheduling.volcano.sh/group-min-resources | ignored | what pods ask for is known from the pods
annotation volcano.sh/task-index, job-name, job-namespace, job-version, job-retry-count, template-uid, queue-name | ignored | for Volcano's controllers, which write them
annotation volcano.sh/network-topology-mode, network-topology-highest-tier | honoured | of a pod with `schedulerName: volcano` in no PodGroup: as `networkTopology` of the group that it is put in. Volcano takes a wrong word for `hard`; here it is refused
annotation volcano.sh/task-priority | ignored | tasks of a gang go by age and name
annotation volcano.sh/cooldown-time, revocable-zone, jdb-min-available, jdb-max-unavailable | ignored | plugins `cdp` and `tdm`; a PodDisruptionBudget is kept
annotation volcano.sh/numa-topology-policy, resource-strategy-scoring-type | ignored | they prefer nodes
""")  # noqa: E501 (a table)

_POD_GROUP = _rows("""
spec.minMember | honoured | so many pods start together or none; 0 or absent: each for itself
spec.minTaskMember | honoured | so many of each task, as long as `minMember` is at least their sum; smaller, they do not count, as there. Pods of other tasks count to `minMember` alone
spec.minResources | ignored | what the pods ask for decides. Volcano admits a group by it before there are pods
spec.queue | honoured | its queue; absent `default`. It overrides what the pods say. Where it is `default`, the annotation `scheduling.volcano.sh/queue-name` of the namespace names another: Volcano's webhook writes that when the group is made, here it counts as it is now
spec.priorityClassName | honoured | the gang's priority; a class that is not there gives the cluster's default class, else 0. The pods' own classes do not count, as there
spec.networkTopology.mode | honoured | the gang is as close as can be in the [tree of HyperNodes](topology.md#volcanos-hypernodes): `hard`, or absent, in one up to the highest tier; `soft` anywhere
spec.networkTopology.highestTierAllowed | honoured | `hard`: in one HyperNode of this tier or below. Above all tiers: the whole cluster, as there. Below all, or without any HyperNode: the gang waits and says so
spec.networkTopology.highestTierName | honoured | the same by the name of a tier; one that no HyperNode has: the gang waits. Beside `highestTierAllowed` it is refused
spec.subGroupPolicy[].name | honoured | its subgroups are called `name/value`. Pods that it divides count to a `minTaskMember` of its own name, and to no other
spec.subGroupPolicy[].labelSelector | honoured | which pods it divides; absent: all that have the labels
spec.subGroupPolicy[].matchLabelKeys | honoured | pods with the same values of all these labels are one subgroup; without keys, or values, a pod is in none, as there
spec.subGroupPolicy[].subGroupSize | honoured | so many pods of a subgroup start together; absent 1
spec.subGroupPolicy[].minSubGroups | honoured | so many subgroups start with the gang, the oldest that have their pods; the others follow whole, as there is room
spec.subGroupPolicy[].networkTopology.mode | honoured | as that of the group, for each subgroup by itself
spec.subGroupPolicy[].networkTopology.highestTierAllowed | honoured | the same
spec.subGroupPolicy[].networkTopology.highestTierName | honoured | the same
metadata.annotations[volcano.sh/preemptable] | honoured | whether its pods may be evicted for others; it overrides theirs
metadata.creationTimestamp | honoured | the gang's age
status.phase | honoured | written: see below
status.conditions[].type | honoured | written: `Unschedulable` while something of it waits, `Scheduled` when nothing does
status.conditions[].status | honoured | written
status.conditions[].reason | honoured | written: `NotEnoughResources`, `NotEnoughTasks`
status.conditions[].message | honoured | written: how many of its pods wait, and why
status.conditions[].lastTransitionTime | honoured | written
status.conditions[].transitionID | ignored | it numbers Volcano's sessions
status.running | honoured | written
status.succeeded | honoured | written
status.failed | honoured | written
""")  # noqa: E501 (a table)

_QUEUE = _rows("""
spec.weight | honoured | its part of what there is to divide, in every resource
spec.capability | honoured | the most that it may have of a resource; what is not listed has no bound
spec.deserved | honoured | what it is entitled to before others' surplus, and takes back; other queues may use it while it is idle
spec.guarantee.resource | honoured | nobody else may use it, not even while it is idle. Where `deserved` is absent it is that too
spec.parent | honoured | the queue above; absent `root`. `root` and `default` need no object
spec.priority | honoured | queues of higher priority go first
spec.reclaimable | honoured | `false`: other queues take nothing back from it
spec.affinity.nodeGroupAffinity.requiredDuringSchedulingIgnoredDuringExecution | held | nothing new starts in the queue
spec.affinity.nodeGroupAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution | held | the same
spec.affinity.nodeGroupAffinity.preferredDuringSchedulingIgnoredDuringExecution | ignored | it only prefers
spec.affinity.nodeGroupAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution | ignored | it only prefers
spec.dequeueStrategy | ignored | Volcano does not read it either; order inside a queue is the policy's
spec.type | ignored | Volcano does not read it either
spec.extendClusters[].name | ignored | for Volcano's multi-cluster
spec.extendClusters[].weight | ignored | the same
spec.extendClusters[].capacity | ignored | the same
metadata.annotations[volcano.sh/hierarchy], [volcano.sh/hierarchy-weights] | ignored | the tree is that of `spec.parent`. What contradicts itself is refused
status.state | honoured | `Closed`, `Closing` and `Unknown`: what runs goes on, nothing new starts, there and below. Absent, it is written: `Open`. With `--volcano-jobs` Commands change it
status.allocated | honoured | written: what its work has, with that of the queues below it
status.pending | ignored | Volcano counts it in metrics alone
status.running | ignored | the same
status.inqueue | ignored | the same
status.unknown | ignored | the same
status.completed | ignored | the same
status.reservation.nodes | ignored | nothing writes it there
status.reservation.resource | ignored | nothing writes it there
""")  # noqa: E501 (a table)

_JOB = _rows("""
spec.schedulerName | honoured | of pods whose template names none; absent `volcano`
spec.minAvailable | honoured | the group's `minMember`; 0 or absent: the sum of the tasks'
spec.volumes[].mountPath | honoured | where every container mounts it
spec.volumes[].volumeClaimName | honoured | the claim
spec.volumes[].volumeClaim | honoured | a claim is made where none is named
spec.tasks[].name | honoured | in the pods' names; absent `default0`, `default1`, …
spec.tasks[].replicas | honoured | how many pods; absent 0
spec.tasks[].minAvailable | honoured | the group's `minTaskMember`; absent all its replicas
spec.tasks[].template | honoured | the pods, with names, labels, annotations and owner as Volcano's controller gives them
spec.tasks[].policies[].action | honoured | on a cluster with `--volcano-jobs`, or by Volcano's controller; in files it is checked
spec.tasks[].policies[].event | honoured | the same. `JobUpdated` never happens, there either
spec.tasks[].policies[].events | honoured | the same
spec.tasks[].policies[].exitCode | honoured | the same: of the first container
spec.tasks[].policies[].timeout | honoured | the same
spec.tasks[].topologyPolicy | ignored | checked, and handed to the pods as an annotation that is not read
spec.tasks[].maxRetry | honoured | so many new starts of containers, in all pods of the task, are a `TaskFailed`; -1: never
spec.tasks[].dependsOn.name | honoured | the task has no pods before enough of those run or have ended well; in files none
spec.tasks[].dependsOn.iteration | honoured | `any` of them, or `all`
spec.tasks[].partitionPolicy.totalPartitions | honoured | times the size they are the replicas
spec.tasks[].partitionPolicy.partitionSize | honoured | the pods' label `volcano.sh/partition-id`, and the group's `subGroupSize`
spec.tasks[].partitionPolicy.minPartitions | honoured | the group's `minSubGroups`
spec.tasks[].partitionPolicy.networkTopology.mode | honoured | that of the group's `subGroupPolicy`
spec.tasks[].partitionPolicy.networkTopology.highestTierAllowed | honoured | the same
spec.tasks[].partitionPolicy.networkTopology.highestTierName | honoured | the same
spec.policies[].action | honoured | where no policy of the task answers
spec.policies[].event | honoured | the same
spec.policies[].events | honoured | the same
spec.policies[].exitCode | honoured | the same
spec.policies[].timeout | honoured | the same
spec.plugins | honoured | `svc`, `env`, `ssh`, `tensorflow`, `mpi`, `pytorch`, `ray`, `hcclrank` with their flags: what they add to pods, and the services, tables and rules beside them. Keys of `ssh` are made on a cluster. An unknown plugin or flag is refused
spec.runningEstimate | ignored | Volcano does not read it either
spec.queue | honoured | the group's queue; absent `default`
spec.maxRetry | honoured | restarted so often, it fails; 0 or absent: 3
spec.ttlSecondsAfterFinished | honoured | on a cluster: so long after its end it is deleted, with all of its own
spec.priorityClassName | honoured | of the group, and of pods whose template names none
spec.minSuccess | honoured | on a cluster: so many pods that end well complete it
spec.networkTopology.mode | honoured | as that of the group
spec.networkTopology.highestTierAllowed | honoured | the same
spec.networkTopology.highestTierName | honoured | the same
status.state.phase | honoured | written on a cluster; in files a Job that is over, or about to be, gets no pods
status.state.reason | honoured | written: what was done last, or `Refused`, `MaxRetry`, `NotEnoughSucceeded`. Volcano leaves it empty
status.state.message | honoured | written: to what and why. Volcano leaves it empty
status.state.lastTransitionTime | honoured | written when the phase changes; Volcano's at each write
status.minAvailable | honoured | written
status.taskStatusCount | honoured | written
status.pending | honoured | written
status.running | honoured | written
status.succeeded | honoured | written
status.failed | honoured | written
status.terminating | honoured | written
status.unknown | honoured | written
status.version | honoured | written: one more for each restart, abort or end
status.retryCount | honoured | written
status.runningDuration | honoured | written once it is over or aborted
status.controlledResources | honoured | written: what plugins have made, and the claims
status.conditions[].status | honoured | written: each phase once, the last one last
status.conditions[].lastTransitionTime | honoured | written
""")  # noqa: E501 (a table)

_HYPER_NODE = _rows("""
spec.tier | honoured | the lower, the closer. A HyperNode in another one must be of a lower tier than that one
spec.tierName | honoured | the name of the tier, for `highestTierName`, reasons and closeness. One name for two tiers means the lower one
spec.members[].type | honoured | `Node` or `HyperNode`
spec.members[].selector.exactMatch.name | honoured | a node, or a smaller HyperNode; who is not there yet is in it when it comes
spec.members[].selector.regexMatch.pattern | honoured | nodes in whose name it is found, as Go finds it, in linear time; flags, word boundaries and Unicode classes are refused. Not for HyperNodes
spec.members[].selector.labelMatch | honoured | nodes by their labels; an empty one means nobody. Not for HyperNodes
status.nodeCount | ignored | Volcano's controller writes it
status.conditions[].type | ignored | the same
status.conditions[].status | ignored | the same
status.conditions[].reason | ignored | the same
status.conditions[].message | ignored | the same
status.conditions[].lastTransitionTime | ignored | the same
status.conditions[].observedGeneration | ignored | the same
""")  # noqa: E501 (a table)

_CRON = _rows("""
spec.schedule | honoured | five fields, `@daily` and such, `@every 1h`, with `TZ=` before it if wished
spec.timeZone | honoured | absent: UTC. Volcano takes that of its own machine
spec.startingDeadlineSeconds | honoured | what was missed for longer is passed over
spec.concurrencyPolicy | honoured | `Allow`, `Forbid`, `Replace`
spec.suspend | honoured | no new Jobs; history goes on
spec.jobTemplate | honoured | labels, annotations and spec of its Jobs
spec.successfulJobsHistoryLimit | honoured | absent: 3
spec.failedJobsHistoryLimit | honoured | absent: 1
status.active | honoured | written
status.lastScheduleTime | honoured | written
status.lastSuccessfulTime | honoured | written
""")

FIELDS: Mapping[str, tuple[Field, ...]] = {
    "Pods": _PODS,
    "PodGroup `scheduling.volcano.sh/v1beta1`": _POD_GROUP,
    "Queue `scheduling.volcano.sh/v1beta1`": _QUEUE,
    "HyperNode `topology.volcano.sh/v1alpha1`": _HYPER_NODE,
    "Job `batch.volcano.sh/v1alpha1`": _JOB,
    "CronJob `batch.volcano.sh/v1alpha1`, on a cluster": _CRON,
}


def page() -> str:
    """Return the tables as the documentation has them."""
    parts = []
    for title, fields in FIELDS.items():
        rows = [f"| {_shown(one.path)} | {one.treatment} | {one.text} |" for one in fields]
        parts.append("\n".join([f"### {title}", "", "| field | | |", "|---|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def _shown(path: str) -> str:
    """Quote the names and leave the words around them."""
    place = next((word for word in ("annotation or label ", "annotation ") if path.startswith(word)), "")
    return place + ", ".join(f"`{name}`" for name in path.removeprefix(place).split(", "))

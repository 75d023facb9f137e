"""The fields of a Pod that are read, as in `objects`."""

from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct, field

from phalanx.dialects.core.objects import Amounts, Condition, Expression, Int32, Metadata, Resources, Selector, Strings

Port: TypeAlias = Annotated[int, Meta(ge=0, le=65535)]
Weight: TypeAlias = Annotated[int, Meta(ge=1, le=100)]
Count: TypeAlias = Annotated[int, Meta(ge=1, le=2**31 - 1)]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class ContainerPort(Struct, gc=False, rename="camel"):
    """A port of a container."""

    container_port: Port | None = None
    host_port: Port | None = None
    host_ip: str | None = field(default=None, name="hostIP")
    protocol: str | None = None


class RestartRule(Struct, gc=False):
    """When and what to restart."""

    action: str | None = None


class Container(Struct, gc=False, rename="camel"):
    """A container or an init container."""

    name: str | None = None
    image: str | None = None
    resources: Resources | None = None
    ports: list[ContainerPort] | None = None
    restart_policy: str | None = None
    restart_policy_rules: list[RestartRule] | None = None


class NodeTerm(Struct, gc=False, rename="camel"):
    """A node selector term."""

    match_expressions: list[Expression] | None = None
    match_fields: list[Expression] | None = None


class NodeTerms(Struct, gc=False, rename="camel"):
    """Node selector terms, one of which must match."""

    node_selector_terms: list[NodeTerm] | None = None


class WeightedNodeTerm(Struct, gc=False):
    """A preferred node term."""

    weight: Weight
    preference: NodeTerm | None = None


class NodeAffinity(Struct, gc=False):
    """What a pod wants of its node."""

    required: NodeTerms | None = field(default=None, name=_REQUIRED)
    preferred: list[WeightedNodeTerm] | None = field(default=None, name=_PREFERRED)


class PodTerm(Struct, gc=False, rename="camel"):
    """A pod affinity term."""

    topology_key: str | None = None
    label_selector: Selector | None = None
    namespaces: list[str] | None = None
    namespace_selector: Selector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class WeightedPodTerm(Struct, gc=False, rename="camel"):
    """A preferred pod affinity term."""

    weight: Weight
    pod_affinity_term: PodTerm | None = None


class PodAffinity(Struct, gc=False):
    """Pod (anti-)affinity."""

    required: list[PodTerm] | None = field(default=None, name=_REQUIRED)
    preferred: list[WeightedPodTerm] | None = field(default=None, name=_PREFERRED)


class Affinity(Struct, gc=False, rename="camel"):
    """Affinity of a pod."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Toleration(Struct, gc=False):
    """A toleration."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class Spread(Struct, gc=False, rename="camel"):
    """A topology spread constraint."""

    topology_key: str | None = None
    max_skew: Count | None = None
    when_unsatisfiable: str | None = None
    label_selector: Selector | None = None
    match_label_keys: list[str] | None = None
    min_domains: Count | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None


class Gate(Struct, gc=False):
    """A scheduling gate."""

    name: str | None = None


class ImageVolume(Struct, gc=False):
    """A volume whose files are an image's."""

    reference: str | None = None


class ClaimSource(Struct, gc=False, rename="camel"):
    """A volume that is a claim."""

    claim_name: str | None = None


class Volume(Struct, gc=False, rename="camel"):
    """The kinds of volumes that tie a pod to some nodes."""

    name: str | None = None
    image: ImageVolume | None = None
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: dict[str, Any] | None = None
    gce_persistent_disk: dict[str, Any] | None = None
    aws_elastic_block_store: dict[str, Any] | None = None
    azure_disk: dict[str, Any] | None = None
    cinder: dict[str, Any] | None = None
    iscsi: dict[str, Any] | None = None
    rbd: dict[str, Any] | None = None
    vsphere_volume: dict[str, Any] | None = None


class WorkloadRef(Struct, gc=False, rename="camel"):
    """The group of a Workload that a pod of Kubernetes 1.35 is in."""

    name: str | None = None
    pod_group: str | None = None
    pod_group_replica_key: str | None = None


class SchedulingGroup(Struct, gc=False, rename="camel"):
    """The PodGroup that a pod of Kubernetes 1.36 or later is in."""

    pod_group_name: str | None = None


class PodSpec(Struct, gc=False, rename="camel"):
    """What a pod asks for."""

    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    overhead: Amounts = None
    resources: Resources | None = None
    node_name: str | None = None
    scheduler_name: str | None = None
    priority: Int32 | None = None
    preemption_policy: str | None = None
    node_selector: Strings = None
    affinity: Affinity | None = None
    tolerations: list[Toleration] | None = None
    topology_spread_constraints: list[Spread] | None = None
    host_network: bool | None = None
    host_users: bool | None = None
    termination_grace_period_seconds: int | None = None
    scheduling_gates: list[Gate] | None = None
    volumes: list[Volume] | None = None
    resource_claims: list[Any] | None = None
    workload_ref: WorkloadRef | None = None
    scheduling_group: SchedulingGroup | None = None


class Terminated(Struct, gc=False, rename="camel"):
    """How a container ended."""

    finished_at: Any = None


class ContainerState(Struct, gc=False):
    """Where a container is in its life."""

    terminated: Terminated | None = None


class ContainerStatus(Struct, gc=False, rename="camel"):
    """What the kubelet says of a container."""

    name: str | None = None
    resources: Resources | None = None
    allocated_resources: Amounts = None
    state: ContainerState | None = None


class PodStatus(Struct, gc=False, rename="camel"):
    """What the kubelet says of a pod."""

    phase: str | None = None
    start_time: Any = None
    nominated_node_name: str | None = None
    conditions: list[Condition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    resources: Resources | None = None
    allocated_resources: Amounts = None


class Pod(Struct, gc=False):
    """A Pod."""

    metadata: Metadata
    spec: PodSpec
    status: PodStatus | None = None

"""The values of an installation: one type is the schema of the chart and the check of `phalanx install --values`."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

Manifest = dict[str, Any]

_SUBDOMAIN = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*"
#: With the registry's port, and without a tag, which is a value of its own.
REPOSITORY = r"([a-zA-Z0-9][a-zA-Z0-9.-]*(:[0-9]+)?/)?[a-zA-Z0-9][a-zA-Z0-9._/-]*"
Name = Annotated[str, Meta(pattern=f"^{_SUBDOMAIN}$", max_length=253)]
_Seconds = Annotated[float, Meta(gt=0, le=3600)]


class _Part(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A mapping of values: an unknown key is a mistake."""


class Image(_Part, frozen=True):
    """The image that you built: there is no public one."""

    repository: Annotated[str, Meta(pattern=f"^{REPOSITORY}$", max_length=254)] = "phalanx"
    tag: Annotated[str, Meta(pattern=r"^([a-zA-Z0-9_][a-zA-Z0-9._-]*)?$", max_length=128)] = ""
    digest: Annotated[str, Meta(pattern=r"^(sha256:[0-9a-f]{64})?$")] = ""
    pull_policy: Literal["", "Always", "IfNotPresent", "Never"] = ""
    pull_secrets: list[Manifest] = []


class LeaseTimes(_Part, frozen=True):
    """Seconds; each must be greater than the one after it."""

    duration: _Seconds = 15
    renew_deadline: _Seconds = 10
    retry_period: _Seconds = 2


class Rule(_Part, frozen=True):
    """A rule of a ClusterRole."""

    api_groups: list[str]
    resources: list[str]
    verbs: list[str]
    resource_names: list[str] | msgspec.UnsetType = msgspec.UNSET


class Rights(_Part, frozen=True):
    """Rights besides those that the scheduler always needs."""

    extra_rules: dict[str, list[Rule]] = {}


def _egress() -> list[Manifest]:
    """Allow the cluster's DNS, and the API server by its usual ports, as no selector can name its address."""
    ports = ((53, "UDP"), (53, "TCP"), (443, "TCP"), (6443, "TCP"))
    return [{"ports": [{"port": port, "protocol": protocol} for port, protocol in ports]}]


class NetworkRules(_Part, frozen=True):
    """A NetworkPolicy: who may reach the metrics port, and where the scheduler may reach."""

    enabled: bool = False
    #: Peers as in a NetworkPolicy; none: everybody.
    ingress_from: list[Manifest] = []
    egress: list[Manifest] = msgspec.field(default_factory=_egress)


class Monitor(_Part, frozen=True):
    """A Service and a ServiceMonitor, for the Prometheus operator."""

    enabled: bool = False
    interval: Annotated[str, Meta(pattern="^[0-9]+(ms|s|m)$")] = "30s"
    labels: dict[str, str] = {}


class GpuSharing(_Part, frozen=True):
    """Pods that share GPUs, and those that keep these from others."""

    config_maps: bool = True
    node_locks: bool = False
    runtime_class_name: Annotated[str, Meta(pattern=f"^({_SUBDOMAIN})?$", max_length=253)] = ""


def _resources() -> Manifest:
    return {"requests": {"cpu": "500m", "memory": "256Mi"}, "limits": {"memory": "2Gi"}}


def _spread() -> Manifest:
    """Keep replicas on different nodes where that is possible."""
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app.kubernetes.io/part-of": "phalanx"}},
    }
    preferred = [{"weight": 100, "podAffinityTerm": term}]
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}


class Admission(_Part, frozen=True):
    """Policies by which the API server judges what people apply: no webhook, nothing to run."""

    enabled: bool = False
    keys: bool = True
    queues: bool = True
    bound: bool = True
    #: For Kubernetes 1.36 and newer.
    defaults: bool = False
    #: The same.
    gpus: bool = False


class Values(_Part, frozen=True):
    """Everything that can be chosen; `charts/phalanx/values.yaml` says what each is for."""

    image: Image = Image()
    replicas: Annotated[int, Meta(ge=1, le=9)] = 2
    scheduler_names: Annotated[list[Name], Meta(min_length=1, max_length=64)] = msgspec.field(
        default_factory=lambda: ["phalanx"]
    )
    #: None: what ships. No default to merge with, because helm warns when a text meets a mapping.
    policy: str | Manifest | None = None
    lease: LeaseTimes = LeaseTimes()
    log_format: Literal["text", "json"] = "text"
    extra_args: list[Annotated[str, Meta(pattern="^--[a-z]")]] = []
    rbac: Rights = Rights()
    gpu_sharing: GpuSharing = GpuSharing()
    volcano_jobs: bool = False
    resources: Manifest = msgspec.field(default_factory=_resources)
    priority_class_name: Annotated[str, Meta(pattern=f"^({_SUBDOMAIN})?$", max_length=253)] = "system-cluster-critical"
    node_selector: dict[str, str] = {}
    tolerations: list[Manifest] = []
    affinity: Manifest = msgspec.field(default_factory=_spread)
    pod_annotations: dict[str, str] = {}
    keep_queues: bool = True
    admission: Admission = Admission()
    network_policy: NetworkRules = NetworkRules()
    service_monitor: Monitor = Monitor()

"""The fields of Volcano's Job that its controller and webhooks read."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from phalanx.dialects.core import objects
from phalanx.dialects.volcano.objects import Count, NetworkTopology, Size


class Policy(Struct, gc=False, rename="camel"):
    """What to do when something happens."""

    action: str | None = None
    event: str | None = None
    events: list[str] | None = None
    exit_code: objects.Int32 | None = None
    timeout: str | None = None


class DependsOn(Struct, gc=False):
    """Tasks that must run first."""

    name: list[str] | None = None
    iteration: str | None = None


class PartitionPolicy(Struct, gc=False, rename="camel"):
    """How a task is cut into parts."""

    total_partitions: Size
    partition_size: Size
    min_partitions: Count = 0
    network_topology: NetworkTopology | None = None


class Task(Struct, gc=False, rename="camel"):
    """Pods of one template."""

    name: str = ""
    replicas: Count = 0
    min_available: Count | None = None
    template: dict[str, Any] | None = None
    policies: list[Policy] | None = None
    topology_policy: str | None = None
    #: -1: without end.
    max_retry: Annotated[int, Meta(ge=-1, le=2**31 - 1)] | None = None
    depends_on: DependsOn | None = None
    partition_policy: PartitionPolicy | None = None

    @property
    def minimum(self) -> int:
        """Return how many of its pods are needed."""
        return self.replicas if self.min_available is None else self.min_available

    @property
    def pod(self) -> dict[str, Any]:
        """Return the spec of its template."""
        spec = (self.template or {}).get("spec")
        return spec if isinstance(spec, dict) else {}


class Volume(Struct, gc=False, rename="camel"):
    """A claim that every pod mounts."""

    mount_path: str | None = None
    volume_claim_name: str | None = None
    volume_claim: dict[str, Any] | None = None


class JobSpec(Struct, gc=False, rename="camel"):
    """What a Job says."""

    scheduler_name: str = ""
    min_available: Count = 0
    volumes: list[Volume] | None = None
    tasks: list[Task] | None = None
    policies: list[Policy] | None = None
    plugins: dict[str, list[str] | None] | None = None
    running_estimate: str | None = None
    queue: str = ""
    max_retry: Count = 0
    ttl_seconds_after_finished: Count | None = None
    priority_class_name: str = ""
    min_success: Size | None = None
    network_topology: NetworkTopology | None = None


class Job(Struct, gc=False):
    """A Job."""

    metadata: objects.Versioned
    spec: JobSpec
    status: Any = None

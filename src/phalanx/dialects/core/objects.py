"""The fields of Kubernetes objects that are read, and no others: what is not declared here is skipped.

Any list or map may be null. Quantities and times are checked by hand (`Any`), so that a message can name the
very field; everything else is checked while it is decoded. Pods are in `pod_objects`.
"""

from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct

Amounts: TypeAlias = dict[str, Any] | None
Strings: TypeAlias = dict[str, str] | None
Int32: TypeAlias = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]


class Owner(Struct, gc=False, rename="camel"):
    """An owner reference."""

    api_version: str | None = None
    kind: str | None = None
    name: str | None = None
    controller: bool | None = None
    uid: str | None = None


class Metadata(Struct, gc=False, rename="camel"):
    """What every object has."""

    name: str
    namespace: str | None = None
    uid: str | None = None
    resource_version: Any = None
    labels: Strings = None
    annotations: Strings = None
    creation_timestamp: Any = None
    deletion_timestamp: Any = None
    deletion_grace_period_seconds: int | None = None
    owner_references: list[Owner] | None = None


class Versioned(Metadata, gc=False, rename="camel"):
    """What every object has, and how often its spec was written."""

    generation: int | None = None


class Resources(Struct, gc=False):
    """Requests and limits of a container or of a pod."""

    requests: Amounts = None
    limits: Amounts = None


class Expression(Struct, gc=False):
    """One requirement of a selector."""

    key: str | None = None
    operator: str | None = None
    values: list[str] | None = None


class Selector(Struct, gc=False, rename="camel"):
    """A label selector."""

    match_labels: Strings = None
    match_expressions: list[Expression] | None = None


class Condition(Struct, gc=False, rename="camel"):
    """A condition of a pod or a node."""

    type: str | None = None
    status: str | None = None
    reason: str | None = None
    message: Any = None
    last_transition_time: Any = None


class Taint(Struct, gc=False):
    """A taint."""

    key: str
    value: str | None = None
    effect: str | None = None


class NodeSpec(Struct, gc=False):
    """What people say of a node."""

    unschedulable: bool | None = None
    taints: list[Taint] | None = None


class Image(Struct, gc=False, rename="camel"):
    """An image that a node has."""

    names: list[str] | None = None
    size_bytes: int | None = None


class NodeStatus(Struct, gc=False, rename="camel"):
    """What the kubelet says of a node."""

    allocatable: Amounts = None
    capacity: Amounts = None
    conditions: list[Condition] | None = None
    declared_features: list[str] | None = None
    images: list[Image] | None = None


class Node(Struct, gc=False):
    """A Node."""

    metadata: Metadata
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class Namespace(Struct, gc=False):
    """A Namespace."""

    metadata: Metadata

"""The fields of storage objects that are read, as in `objects`."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from phalanx.dialects.core.objects import Amounts, Metadata, Resources, Selector
from phalanx.dialects.core.pod_objects import NodeTerm

#: What only has to be there, or is read by hand.
Source = dict[str, Any] | None


class ClaimSpec(Struct, gc=False, rename="camel"):
    """What a claim asks for."""

    access_modes: list[str] | None = None
    selector: Selector | None = None
    resources: Resources | None = None
    volume_name: str | None = None
    storage_class_name: str | None = None
    volume_mode: str | None = None


class Phase(Struct, gc=False):
    """The status of a claim or a volume."""

    phase: str | None = None


class PersistentVolumeClaim(Struct, gc=False):
    """A PersistentVolumeClaim."""

    metadata: Metadata
    spec: ClaimSpec | None = None
    status: Phase | None = None


class ClaimRef(Struct, gc=False):
    """The claim that a volume is for."""

    name: str | None = None
    namespace: str | None = None
    uid: str | None = None


class Required(Struct, gc=False, rename="camel"):
    """Terms of which one must match."""

    node_selector_terms: list[NodeTerm] | None = None


class VolumeAffinity(Struct, gc=False):
    """Where a volume can be used."""

    required: Required | None = None


class CsiSource(Struct, gc=False, rename="camel"):
    """A volume of a CSI driver."""

    driver: str | None = None
    volume_handle: str | None = None


class VolumeSpec(Struct, gc=False, rename="camel"):
    """What a volume is."""

    capacity: Amounts = None
    access_modes: list[str] | None = None
    claim_ref: ClaimRef | None = None
    storage_class_name: str | None = None
    volume_mode: str | None = None
    node_affinity: VolumeAffinity | None = None
    csi: CsiSource | None = None
    gce_persistent_disk: Source = None
    aws_elastic_block_store: Source = None
    azure_disk: Source = None
    cinder: Source = None
    vsphere_volume: Source = None


class PersistentVolume(Struct, gc=False):
    """A PersistentVolume."""

    metadata: Metadata
    spec: VolumeSpec | None = None
    status: Phase | None = None


class TopologyExpression(Struct, gc=False):
    """One label of nodes where a class makes volumes."""

    key: str | None = None
    values: list[str] | None = None


class TopologyTerm(Struct, gc=False, rename="camel"):
    """Labels that must all match."""

    match_label_expressions: list[TopologyExpression] | None = None


class StorageClass(Struct, gc=False, rename="camel"):
    """A StorageClass."""

    metadata: Metadata
    provisioner: str | None = None
    volume_binding_mode: str | None = None
    allowed_topologies: list[TopologyTerm] | None = None


class Allocatable(Struct, gc=False):
    """How many volumes a driver attaches."""

    count: Annotated[int, Meta(ge=0, le=2**31 - 1)] | None = None


class NodeDriver(Struct, gc=False):
    """A driver on a node."""

    name: str
    allocatable: Allocatable | None = None


class CsiNodeSpec(Struct, gc=False):
    """The drivers of a node."""

    drivers: list[NodeDriver] | None = None


class CSINode(Struct, gc=False):
    """A CSINode."""

    metadata: Metadata
    spec: CsiNodeSpec | None = None


class CsiDriverSpec(Struct, gc=False, rename="camel"):
    """What a driver wants of schedulers."""

    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(Struct, gc=False):
    """A CSIDriver."""

    metadata: Metadata
    spec: CsiDriverSpec | None = None


class CSIStorageCapacity(Struct, gc=False, rename="camel"):
    """A CSIStorageCapacity."""

    metadata: Metadata
    storage_class_name: str | None = None
    node_topology: Selector | None = None
    capacity: Any = None
    maximum_volume_size: Any = None


class AttachmentSource(Struct, gc=False, rename="camel"):
    """What is attached."""

    persistent_volume_name: str | None = None


class AttachmentSpec(Struct, gc=False, rename="camel"):
    """What is attached where, and by which driver."""

    attacher: str | None = None
    node_name: str | None = None
    source: AttachmentSource | None = None


class VolumeAttachment(Struct, gc=False):
    """A VolumeAttachment."""

    metadata: Metadata
    spec: AttachmentSpec | None = None

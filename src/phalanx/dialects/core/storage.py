"""Storage objects to values of the model: claims, volumes, classes, and what drivers say of nodes.

An object with a mistake is set aside whole, and a pod that needs it is held with that mistake.
"""

from collections.abc import Iterable

from phalanx.dialects.core import objects, storage_objects
from phalanx.dialects.core.constraints import label_selector, node_term
from phalanx.dialects.mistakes import FieldError, Mistakes, check_name, one_of, under
from phalanx.model.axis import AMOUNT_MAX
from phalanx.model.events import StorageSeen
from phalanx.model.keys import PREFIX
from phalanx.model.quantity import OversizeError, QuantityError, capacity, request, shown
from phalanx.model.reference import Reference
from phalanx.model.selectors import NodeTerm, Requirement
from phalanx.model.volume import (
    Attachment,
    Capacity,
    Claim,
    Driver,
    NodeDrivers,
    Place,
    Storage,
    StorageClass,
    Volume,
)

#: How claims and volumes name their class since before there was a field for it.
CLASS_OF_CLAIM = "volume.beta.kubernetes.io/storage-class"
_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
#: On a claim or a volume: the uid of the pod for which Phalanx wrote to it.
PREPARED_FOR = f"{PREFIX}prepared-for"
_MODES = ("Filesystem", "Block")
_ACCESS = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
_BINDING = ("Immediate", "WaitForFirstConsumer")
_NOBODY = "kubernetes.io/no-provisioner"
ZONES = (
    "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
)  # fmt: skip
#: Volumes of Kubernetes' own that CSI drivers have taken over: field of ours -> driver, and the field with the name.
MIGRATED = {
    "gce_persistent_disk": ("pd.csi.storage.gke.io", "pdName"),
    "aws_elastic_block_store": ("ebs.csi.aws.com", "volumeID"),
    "azure_disk": ("disk.csi.azure.com", "diskURI"),
    "cinder": ("cinder.csi.openstack.org", "volumeID"),
    "vsphere_volume": ("csi.vsphere.vmware.com", "volumePath"),
}
_MIGRATED_CLASSES = {
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io", "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com", "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com", "kubernetes.io/azure-file": "file.csi.azure.com",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
}  # fmt: skip


def read_claim(one: storage_objects.PersistentVolumeClaim) -> StorageSeen:
    """Return the claim, or raise the first mistake in it."""
    meta, spec = one.metadata, one.spec or storage_objects.ClaimSpec()
    name, phase = _full(meta), one.status.phase if one.status else None
    notes = meta.annotations or {}
    amounts = (spec.resources.requests if spec.resources else None) or {}
    claim = Claim(
        name=name,
        uid=meta.uid or "",
        storage_class=notes.get(CLASS_OF_CLAIM) or spec.storage_class_name or "",
        size=_size(amounts["storage"], "spec.resources.requests.storage", up=True) if "storage" in amounts else None,
        mode=_of(spec.volume_mode, _MODES, "spec.volumeMode"),
        access=_access(spec.access_modes),
        selector=label_selector(spec.selector, "spec.selector", Mistakes(strict=True)),
        volume=spec.volume_name or "",
        bound=bool(spec.volume_name) and _COMPLETED in notes,
        lost=phase == "Lost",
        deleting=meta.deletion_timestamp is not None,
        selected=notes.get(SELECTED_NODE, ""),
        prepared=notes.get(PREPARED_FOR, ""),
        owners=tuple(sorted(owner.uid or "" for owner in meta.owner_references or () if owner.controller)),
    )
    return _seen("PersistentVolumeClaim", name, claim)


def read_volume(one: storage_objects.PersistentVolume) -> StorageSeen:
    """Return the volume, or raise the first mistake in it."""
    meta, spec = one.metadata, one.spec or storage_objects.VolumeSpec()
    check_name(meta.name, "metadata.name")
    amounts, ref, labels = spec.capacity or {}, spec.claim_ref, meta.labels or {}
    driver, handle = _attached_by(spec)
    volume = Volume(
        name=meta.name,
        uid=meta.uid or "",
        storage_class=(meta.annotations or {}).get(CLASS_OF_CLAIM) or spec.storage_class_name or "",
        size=_size(amounts["storage"], "spec.capacity.storage", up=False) if "storage" in amounts else 0,
        mode=_of(spec.volume_mode, _MODES, "spec.volumeMode"),
        access=_access(spec.access_modes),
        labels=labels,
        place=_place(spec.node_affinity),
        zones=tuple((key, tuple(sorted(set(labels[key].split("__"))))) for key in ZONES if key in labels),
        claim=f"{ref.namespace or 'default'}/{ref.name}" if ref and ref.name else "",
        claim_uid=(ref.uid if ref else None) or "",
        # A volume in a file that nobody has sent to a cluster has no phase, and is there for whoever asks.
        available=one.status is None or one.status.phase in {None, "", "Available"},
        deleting=meta.deletion_timestamp is not None,
        driver=driver,
        handle=handle or meta.name,
        prepared=(meta.annotations or {}).get(PREPARED_FOR, ""),
    )
    return _seen("PersistentVolume", meta.name, volume)


def read_class(one: storage_objects.StorageClass) -> StorageSeen:
    """Return the class, or raise the first mistake in it."""
    name, maker = one.metadata.name, one.provisioner or ""
    check_name(name, "metadata.name")
    binding = _of(one.volume_binding_mode, _BINDING, "volumeBindingMode")
    found = StorageClass(
        name=name,
        uid=one.metadata.uid or "",
        provisioner="" if maker == _NOBODY else _MIGRATED_CLASSES.get(maker, maker),
        waits=binding == "WaitForFirstConsumer",
        place=tuple(_topology(one.allowed_topologies)) if one.allowed_topologies else None,
    )
    return _seen("StorageClass", name, found)


def read_node_drivers(one: storage_objects.CSINode) -> StorageSeen:
    """Return the drivers of a node, or raise the first mistake in them."""
    check_name(one.metadata.name, "metadata.name")
    listed = (one.spec.drivers if one.spec else None) or ()
    limits = tuple(sorted((each.name, each.allocatable.count if each.allocatable else None) for each in listed))
    name = one.metadata.name
    return _seen("CSINode", name, NodeDrivers(name, one.metadata.uid or "", limits))


def read_driver(one: storage_objects.CSIDriver) -> StorageSeen:
    """Return the driver, or raise the first mistake in it."""
    spec, name = one.spec or storage_objects.CsiDriverSpec(), one.metadata.name
    check_name(name, "metadata.name")
    needed = bool(spec.prevent_pod_scheduling_if_missing)
    return _seen("CSIDriver", name, Driver(name, one.metadata.uid or "", bool(spec.storage_capacity), needed))


def read_capacity(one: storage_objects.CSIStorageCapacity) -> StorageSeen:
    """Return how much there is, or raise the first mistake in it."""
    name = _full(one.metadata)
    there = None if one.capacity is None else _size(one.capacity, "capacity", up=False)
    largest = one.maximum_volume_size
    selector = label_selector(one.node_topology, "nodeTopology", Mistakes(strict=True))
    found = Capacity(
        name=name,
        uid=one.metadata.uid or "",
        storage_class=one.storage_class_name or "",
        nodes=selector,
        largest=there if largest is None else _size(largest, "maximumVolumeSize", up=False),
    )
    return _seen("CSIStorageCapacity", name, found)


def read_attachment(one: storage_objects.VolumeAttachment) -> StorageSeen:
    """Return the attachment, or raise the mistake in it."""
    spec, name = one.spec or storage_objects.AttachmentSpec(), one.metadata.name
    check_name(name, "metadata.name")
    volume = (spec.source.persistent_volume_name if spec.source else None) or ""
    found = Attachment(name, one.metadata.uid or "", spec.node_name or "", volume, spec.attacher or "")
    return _seen("VolumeAttachment", name, found)


def _seen(kind: str, name: str, value: Storage) -> StorageSeen:
    return StorageSeen(Reference(kind, name), value)


def _full(meta: objects.Metadata) -> str:
    namespace = meta.namespace or "default"
    check_name(meta.name, "metadata.name")
    check_name(namespace, "metadata.namespace")
    return f"{namespace}/{meta.name}"


def _of(found: str | None, allowed: tuple[str, ...], field: str) -> str:
    """Return one of a known set; none is the first."""
    if found and found not in allowed:
        raise FieldError(field, one_of(found, allowed))
    return found or allowed[0]


def _access(listed: list[str] | None) -> tuple[str, ...]:
    for index, one in enumerate(listed or ()):
        _of(one or "none", _ACCESS, f"spec.accessModes[{index}]")
    return tuple(sorted(set(listed or ())))


def _size(value: object, field: str, *, up: bool) -> int:
    """Return bytes. Sizes are compared and never added up: what is larger than any amount is the largest one."""
    try:
        return request(value, "storage") if up else capacity(value, "storage")
    except OversizeError:
        return AMOUNT_MAX
    except QuantityError as error:
        raise FieldError(field, str(error)) from None


def _place(affinity: storage_objects.VolumeAffinity | None) -> Place | None:
    """Return where a volume can be used. Its terms are matched with labels alone, never with the name of a node."""
    required = affinity.required if affinity else None
    if required is None:
        return None
    path, strict = "spec.nodeAffinity.required.nodeSelectorTerms", Mistakes(strict=True)
    read = [
        node_term(term, f"{path}[{index}]", strict) for index, term in enumerate(required.node_selector_terms or ())
    ]
    by_label = [term for term in read if not any(wish.operator == "In" for wish in term.fields)]
    return tuple(NodeTerm(term.labels) for term in by_label)


def _topology(listed: Iterable[storage_objects.TopologyTerm]) -> Iterable[NodeTerm]:
    for index, term in enumerate(listed):
        wishes = []
        for place, one in enumerate(term.match_label_expressions or ()):
            path = f"allowedTopologies[{index}].matchLabelExpressions[{place}]"
            if not one.key:
                raise FieldError(f"{path}.key", "missing")
            if not one.values:
                raise FieldError(f"{path}.values", "found none, allowed is at least one")
            wishes.append(Requirement(one.key, "In", tuple(sorted(set(one.values)))))
        yield NodeTerm(tuple(wishes))


def _attached_by(spec: storage_objects.VolumeSpec) -> tuple[str, str]:
    """Return the CSI driver of a volume and how it calls it; empty: no driver counts it."""
    if spec.csi is not None:
        if not spec.csi.driver:
            raise FieldError("spec.csi.driver", "missing")
        return spec.csi.driver, spec.csi.volume_handle or ""
    for own, (driver, named) in MIGRATED.items():
        source = getattr(spec, own)
        if source is not None:
            handle = source.get(named)
            if not isinstance(handle, str):
                raise FieldError(under(f"spec.{_camel(own)}", named), f"found {shown(handle)}, allowed is a string")
            return driver, handle
    return "", ""


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)

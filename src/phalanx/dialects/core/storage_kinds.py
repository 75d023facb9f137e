"""The kinds of storage objects. A cluster may lack any of them, and is then as if it had none."""

from collections.abc import Callable
from typing import Any

from phalanx.dialects.core import storage, storage_objects
from phalanx.dialects.dialect import Kind, Version
from phalanx.model.events import StorageGone, StorageSeen

GROUP = "storage.k8s.io"


def _kind(
    plural: str, type_: Any, read: Callable[[Any], StorageSeen], group: str = GROUP, *, namespaced: bool = False
) -> Kind:
    return Kind(
        kind=type_.__name__,
        group=group,
        plural=plural,
        versions=(Version("v1", type_, read),),
        gone=StorageGone,
        namespaced=namespaced,
        awaited=True,
        qualified=False,
    )


KINDS = (
    _kind(
        "persistentvolumeclaims", storage_objects.PersistentVolumeClaim, storage.read_claim, group="", namespaced=True
    ),
    _kind("persistentvolumes", storage_objects.PersistentVolume, storage.read_volume, group=""),
    _kind("storageclasses", storage_objects.StorageClass, storage.read_class),
    _kind("csinodes", storage_objects.CSINode, storage.read_node_drivers),
    _kind("csidrivers", storage_objects.CSIDriver, storage.read_driver),
    _kind("csistoragecapacities", storage_objects.CSIStorageCapacity, storage.read_capacity, namespaced=True),
    _kind("volumeattachments", storage_objects.VolumeAttachment, storage.read_attachment),
)

"""The volumes of a pod that tie it to some nodes: its claims, and disks that it names itself."""

from typing import Any

from phalanx.dialects.core import pod_objects
from phalanx.dialects.core.storage import MIGRATED
from phalanx.dialects.mistakes import NAME_ALLOWED, Mistakes, is_name
from phalanx.model.quantity import shown
from phalanx.model.volume import Disk, Mount

#: A volume that is the same on every node.
_FREE = pod_objects.Volume()
#: Field of ours -> as the object has it, and the field that says which disk it is.
_DISKS = {
    "gce_persistent_disk": ("gcePersistentDisk", "pdName"),
    "aws_elastic_block_store": ("awsElasticBlockStore", "volumeID"),
    "azure_disk": ("azureDisk", "diskURI"),
    "cinder": ("cinder", "volumeID"),
    "vsphere_volume": ("vsphereVolume", "volumePath"),
    "iscsi": ("iscsi", "iqn"),
    "rbd": ("rbd", "image"),
}


def mounts(spec: pod_objects.PodSpec, pod: str, mistakes: Mistakes) -> tuple[Mount, ...]:
    """Return them in the order of the spec, each once."""
    found: dict[tuple[str, Disk | None], Mount] = {}
    for index, volume in enumerate(spec.volumes or ()):
        for one in _of(volume, pod, f"spec.volumes[{index}]", mistakes):
            found.setdefault((one.claim, one.disk), one)
    return tuple(found.values())


def _of(volume: pod_objects.Volume, pod: str, path: str, mistakes: Mistakes) -> list[Mount]:
    if volume.persistent_volume_claim is not None:
        field = f"{path}.persistentVolumeClaim.claimName"
        name = volume.persistent_volume_claim.claim_name
        if name is None or not is_name(name):
            mistakes.note(field, "missing" if not name else f"found {shown(name)}, allowed is {NAME_ALLOWED}")
            return []
        return [Mount(field, name)]
    if volume.ephemeral is not None:
        if not volume.name or not is_name(volume.name):
            found = "missing" if not volume.name else f"found {shown(volume.name)}, allowed is {NAME_ALLOWED}"
            mistakes.note(f"{path}.name", found)
            return []
        return [Mount(f"{path}.ephemeral", f"{pod}-{volume.name}", own=True)]
    disks = [(own, getattr(volume, own)) for own in _DISKS]
    return [_disk(own, source, path, mistakes) for own, source in disks if source is not None]


def _disk(own: str, source: dict[str, Any], path: str, mistakes: Mistakes) -> Mount:
    kind, named = _DISKS[own]
    values = {"pool": "rbd", named: None} if own == "rbd" else {named: None}
    words = []
    for key, default in values.items():
        value = source.get(key) or default
        if not isinstance(value, str) or not value:
            mistakes.note(f"{path}.{kind}.{key}", f"found {shown(value)}, allowed is a string")
        words.append(value if isinstance(value, str) else "")
    read_only, monitors = source.get("readOnly") or False, source.get("monitors") or ()
    if not isinstance(read_only, bool):
        mistakes.note(f"{path}.{kind}.readOnly", f"found {shown(read_only)}, allowed is true or false")
    if not isinstance(monitors, list | tuple) or not all(isinstance(one, str) for one in monitors):
        mistakes.note(f"{path}.{kind}.monitors", f"found {shown(monitors)}, allowed is a list of strings")
        monitors = ()
    driver = MIGRATED[own][0] if own in MIGRATED else ""
    at = tuple(sorted(monitors)) if own == "rbd" else ()
    return Mount(f"{path}.{kind}", disk=Disk(kind, "/".join(words), read_only is True, at, driver))

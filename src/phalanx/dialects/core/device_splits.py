"""Splits: a device plugin that shares GPUs counts the places of each, as if it were many. Here a GPU is one again.

Who has which part is Phalanx's own account: of memory and compute of each GPU, which places say nothing of.
"""

from collections.abc import Mapping
from dataclasses import replace

from phalanx.model.axis import GPU, Amounts, unit
from phalanx.model.device import UNLISTED, Device

#: What nodes count beside the places of a resource, and what is not asked for by itself.
_BESIDE = {
    "volcano.sh/vgpu-number": ("volcano.sh/vgpu-memory", "volcano.sh/vgpu-memory-percentage", "volcano.sh/vgpu-cores")
}


def joined(
    resource: str, side: str, found: Mapping[str, list[Device]], left: Amounts, places: int
) -> tuple[dict[str, list[Device]], Amounts]:
    """Return devices and what may be given out, with each device of this resource as one GPU.

    `places`: how many the device plugin counts. Where the node has GPUs beside, under their own name, nothing changes.
    """
    if resource != GPU and (GPU in found or left.get(GPU)):
        return dict(found), left
    listed = found[resource]
    usable = [one for one in listed if one.usable]
    given = left.get(resource, 0) // unit(resource)
    if places == sum(one.replicas for one in listed):
        withheld = max(sum(one.replicas for one in usable) - given, 0)
        many = len(usable) - -(-withheld // min((one.replicas for one in usable), default=1))
    else:
        many = min(len(usable), given)
    kept = {name: amount for name, amount in left.items() if name not in (resource, *_BESIDE.get(resource, ()))}
    others = {name: devices for name, devices in found.items() if name != resource}
    known = side if all(one.id for one in listed) else UNLISTED
    gpus = [
        replace(one, resource=GPU, replicas=1, side=known, by_name=resource == GPU, seats=one.replicas)
        for one in listed
    ]
    return others | {GPU: gpus}, kept | {GPU: max(many, 0) * unit(GPU)}

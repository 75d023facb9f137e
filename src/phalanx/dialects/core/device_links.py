"""Links: which devices of a node have a fast link between them: an annotation, or the label of NVIDIA's clique."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from phalanx.model.axis import GPU
from phalanx.model.device import DEVICES_MAX, UNKNOWN, Device
from phalanx.model.keys import DEVICE_LINKS, annotation
from phalanx.model.quantity import shown

#: All GPUs of a node with this label are in one NVLink clique, which may go on in other nodes.
CLIQUE = "nvidia.com/gpu.clique"
_RANGE = re.compile(r"([0-9]{1,3})(?:-([0-9]{1,3}))?", re.ASCII)
ALLOWED = "RESOURCE=FIRST-LAST,FIRST-LAST…, several with ';' between them, such as nvidia.com/gpu=0-3,4-7"

Found = dict[str, list[Device]]


def link(
    found: Found, labels: Mapping[str, str], annotations: Mapping[str, str], places: Callable[[str], int],
    remarks: list[str],
) -> None:  # fmt: skip
    """Write the link group of each device. What cannot be read links nothing, and is noted."""
    if labels.get(CLIQUE) and GPU in found:
        found[GPU] = [one if one.group != UNKNOWN else replace(one, group=0) for one in found[GPU]]
    for text in filter(None, (one.strip() for one in annotations.get(DEVICE_LINKS, "").split(";"))):
        resource, _, ranges = (one.strip() for one in text.partition("="))
        listed = found.get(resource)
        if listed is None and 0 < places(resource) <= DEVICES_MAX:
            listed = [Device(resource, index) for index in range(places(resource))]
        why = "it has none of these" if not listed else None
        groups = _groups(ranges)
        if groups is None:
            why = f"allowed is {ALLOWED}"
        elif why is None and not groups.keys() <= {one.index for one in listed or ()}:
            why = f"it has {len(listed or ())} of these, counted from 0"
        if why is not None or groups is None:
            remarks.append(f"{annotation(DEVICE_LINKS)}: found {shown(text)}, {why}; it links nothing")
            continue
        found[resource] = [replace(one, group=groups.get(one.index, UNKNOWN)) for one in listed or ()]


def _groups(text: str) -> dict[int, int] | None:
    """Return the group of each index; None: this is not how groups are written."""
    groups: dict[int, int] = {}
    for number, part in enumerate(text.split(",")):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            return None
        first = int(match[1])
        last = int(match[2] or first)
        if last < first or any(index in groups for index in range(first, last + 1)):
            return None
        groups.update(dict.fromkeys(range(first, last + 1), number))
    return groups

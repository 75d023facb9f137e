"""A pod whose object is malformed: one on a node runs all the same, and its room must not be given away.

One of ours that waits is read the same way where its owner is to be told why it waits.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from phalanx.dialects.core import pod_objects
from phalanx.dialects.core.pods import read_pod
from phalanx.dialects.dialect import Table
from phalanx.dialects.mistakes import UNREADABLE, FieldError, of_wrong_type
from phalanx.model.axis import AMOUNT_MAX, PODS
from phalanx.model.task import Hold, Shape, State, Task

#: `spec.tolerations[0].key` -> section `spec`, key `tolerations`.
_FIELD = re.compile(r"(?P<section>\w+)(?:\.(?P<key>\w+))?.*", re.DOTALL)
#: Without these nobody knows what the pod takes, or what it is.
_NEEDED = {"containers", "initContainers", "overhead", "resources", "nodeName", "name"}
#: As many as a node can have: nothing fits beside it until its object is repaired.
_WHOLE_NODE = Shape(requests=((PODS, AMOUNT_MAX),))


def on_which_node(document: Mapping[str, Any]) -> str | None:
    """Return the node that an unfinished pod is on, as far as its document tells."""
    spec, status = document.get("spec"), document.get("status")
    node = spec.get("nodeName") if isinstance(spec, Mapping) else None
    phase = status.get("phase") if isinstance(status, Mapping) else None
    return node if isinstance(node, str) and node and phase not in ("Succeeded", "Failed") else None


def waits_for(document: Mapping[str, Any], schedulers: Collection[str]) -> bool:
    """Tell whether this is a pod that waits for one of these schedulers, as far as its document tells."""
    spec, status = document.get("spec"), document.get("status")
    phase = status.get("phase") if isinstance(status, Mapping) else None
    wants = isinstance(spec, Mapping) and not spec.get("nodeName") and _scheduler(spec) in schedulers
    return wants and phase not in ("Succeeded", "Failed")


def _scheduler(spec: Mapping[str, Any]) -> str:
    name = spec.get("schedulerName")
    return name if isinstance(name, str) and name else "default-scheduler"


def salvage(document: Mapping[str, Any], schedulers: Collection[str], name: str, mistake: Hold, table: Table) -> Task:
    """Return the task without the malformed fields, or, where these say what it takes, one that fills its node."""
    rest = _without(document, mistake.field)
    while rest is not None:
        try:
            return replace(read_pod(msgspec.convert(rest, pod_objects.Pod), schedulers, table), hold=mistake)
        except UNREADABLE as error:
            field, _ = of_wrong_type(str(error), rest)
            rest = _without(rest, field)
        except FieldError as second:
            rest = _without(rest, second.field)
    meta = document.get("metadata")
    uid = meta.get("uid") if isinstance(meta, Mapping) else None
    node = on_which_node(document)
    ours = node is None
    namespace, _, own = name.partition("/")
    return Task(
        uid=uid if isinstance(uid, str) and uid else f"{name} on {node}",
        namespace=namespace,
        name=own,
        shape=_WHOLE_NODE,
        state=State.PENDING if ours else State.RUNNING,
        node=node,
        ours=ours,
        scheduler=_scheduler(document["spec"]) if ours else "",
        hold=mistake,
    )


def _without(document: Mapping[str, Any], field: str) -> Mapping[str, Any] | None:
    """Leave out the part of the document that a field lies in; None where it cannot be spared."""
    match = _FIELD.fullmatch(field)
    if match is None or match["key"] in _NEEDED or match["section"] not in {"metadata", "spec", "status"}:
        return None
    section, key = match["section"], match["key"]
    if key is None:
        return {**document, section: None} if section == "status" else None
    part = document.get(section)
    if not isinstance(part, Mapping) or key not in part:
        return None
    return {**document, section: {name: value for name, value in part.items() if name != key}}

"""The claims that a controller makes for pods with `ephemeral` volumes, one for each pod and volume."""

from collections.abc import Mapping
from typing import Any

from phalanx.dialects.dialect import Made
from phalanx.dialects.mistakes import FieldError
from phalanx.model.quantity import shown
from phalanx.sim.admission import items, mapping

Object = Mapping[str, Any]

#: Nothing is made for pods that are over.
_OVER = {"Succeeded", "Failed"}


def ephemeral_claims(pod: Object) -> list[Made]:
    """Return the claims of an identified pod, each with the path of its template. Raise for the first mistake."""
    own, spec = mapping(pod, "metadata"), mapping(pod, "spec")
    # A pod on a node had its claims before: a dump without them does not say what became of them.
    if own.get("deletionTimestamp") or spec.get("nodeName") or mapping(pod, "status").get("phase") in _OVER:
        return []
    found: list[Made] = []
    for index, volume in enumerate(items(spec, "volumes")):
        source = volume.get("ephemeral") if isinstance(volume, dict) else None
        # A volume without a name, or of a wrong type, is refused by who reads the pod.
        if not isinstance(source, dict) or not isinstance(volume.get("name"), str):
            continue
        path = f"spec.volumes[{index}].ephemeral.volumeClaimTemplate"
        template = source.get("volumeClaimTemplate")
        if not isinstance(template, dict):
            raise FieldError(path, "missing" if template is None else f"found {shown(template)}, allowed is a claim")
        carried = {
            key: value for key, value in mapping(template, "metadata").items() if key in {"annotations", "labels"}
        }
        owner = {"apiVersion": "v1", "kind": "Pod", "name": own.get("name"), "uid": own.get("uid"), "controller": True}
        name = f"{own.get('name')}-{volume['name']}"
        metadata = {**carried, "name": name, "namespace": own.get("namespace"), "ownerReferences": [owner]}
        claim = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": metadata,
            "spec": template.get("spec"),
        }
        found.append(Made(claim, f"{path}."))
    return found

"""Claims that controllers make for pods: of a StatefulSet's `volumeClaimTemplates`."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from phalanx.dialects.dialect import Made
from phalanx.dialects.mistakes import FieldError
from phalanx.model.quantity import shown
from phalanx.sim.admission import items, mapping

_FIELD = "spec.volumeClaimTemplates"
#: What of a template's metadata a claim has too.
_CARRIED = ("annotations", "labels")

Object = Mapping[str, Any]


def templates(owner: Object) -> list[tuple[str, Object]]:
    """Return a StatefulSet's templates with their names."""
    listed = mapping(owner, "spec").get("volumeClaimTemplates") if owner["kind"] == "StatefulSet" else None
    if not isinstance(listed, list | None):
        raise FieldError(_FIELD, f"found {shown(listed)}, allowed is a list of claims")
    found: list[tuple[str, Object]] = []
    for index, one in enumerate(listed or ()):
        if not isinstance(one, dict):
            raise FieldError(f"{_FIELD}[{index}]", f"found {shown(one)}, allowed is a claim")
        name = mapping(one, "metadata").get("name")
        if not isinstance(name, str) or not name:
            raise FieldError(f"{_FIELD}[{index}].metadata.name", f"found {shown(name)}, allowed is a name")
        found.append((name, one))
    return found


def claims(owner: Object, ordinals: Iterable[int]) -> Iterator[Made]:
    """Yield the claims of a StatefulSet's pods, as its controller would write them."""
    own = mapping(owner, "metadata")
    selected = mapping(mapping(mapping(owner, "spec"), "selector"), "matchLabels")
    given = templates(owner)
    for ordinal in ordinals:
        for index, (name, template) in enumerate(given):
            metadata = {key: value for key, value in mapping(template, "metadata").items() if key in _CARRIED}
            if isinstance(metadata.get("labels"), dict | None):
                metadata["labels"] = {**(metadata.get("labels") or {}), **selected}
            full = {**metadata, "name": f"{name}-{own.get('name')}-{ordinal}", "namespace": own.get("namespace")}
            claim = {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": full, "spec": template.get("spec"),
            }  # fmt: skip
            yield Made(claim, f"{_FIELD}[{index}].")


def mounted(owner: Object, spec: Any, pod: str) -> Any:
    """Return a pod's spec with the volumes of its claims, each in place of the template's volume of its name."""
    given = {
        name: {"name": name, "persistentVolumeClaim": {"claimName": f"{name}-{pod}"}} for name, _ in templates(owner)
    }
    if not given or not isinstance(spec, dict):
        return spec
    others = [one for one in items(spec, "volumes") if not isinstance(one, dict) or one.get("name") not in given]
    return {**spec, "volumes": [*others, *given.values()]}

"""Service objects to the labels by which they select pods, which kube-scheduler spreads by default."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from phalanx.dialects.core import objects
from phalanx.dialects.mistakes import FieldError, check_name
from phalanx.model.events import ServiceSeen
from phalanx.model.quantity import shown


class ServiceSpec(Struct, gc=False):
    """As much of it as is read."""

    selector: Any = None


class Service(Struct, gc=False):
    """A Service."""

    metadata: objects.Metadata
    spec: ServiceSpec | None = None


def read_service(one: Service) -> ServiceSeen:
    """Return whom it selects, or raise the first mistake in it."""
    check_name(one.metadata.name, "metadata.name")
    return ServiceSeen(f"{one.metadata.namespace or 'default'}/{one.metadata.name}", _selector(one.spec))


def _selector(spec: ServiceSpec | None) -> Mapping[str, str] | None:
    found = spec.selector if spec is not None else None
    if not isinstance(found, dict | None):
        raise FieldError("spec.selector", f"found {shown(found)}, allowed is a map of labels")
    for key, value in (found or {}).items():
        if not isinstance(value, str):
            raise FieldError(f"spec.selector[{key}]", f"found {shown(value)}, allowed is a string")
    return found

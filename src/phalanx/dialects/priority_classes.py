"""PriorityClass objects to numbers."""

from typing import Any

from msgspec import Struct

from phalanx.dialects import objects
from phalanx.dialects.mistakes import FieldError, check_name
from phalanx.model.events import PriorityClassSeen
from phalanx.model.quantity import shown

#: Every version that was ever served has the same fields.
VERSIONS = ("scheduling.k8s.io/v1", "scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha1")


class PriorityClass(Struct, gc=False, rename="camel"):
    """A PriorityClass."""

    metadata: objects.Metadata
    #: Checked by hand: the decoder would name a field that is missing otherwise than one that is bad.
    value: Any = None
    global_default: bool | None = None


def read_class(one: PriorityClass) -> PriorityClassSeen:
    """Return the class, or raise the first mistake in it."""
    name, value = one.metadata.name, one.value
    check_name(name, "metadata.name")
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**31) <= value < 2**31:
        raise FieldError("value", f"found {shown(value)}, allowed is a whole number of 32 bits")
    return PriorityClassSeen(name, value, default=bool(one.global_default))

"""Maps of resources to quantities, in PodGroups and Queues."""

from collections.abc import Mapping
from typing import Any

from phalanx.dialects.mistakes import RESOURCE_ALLOWED, FieldError, is_resource, under
from phalanx.model.quantity import QuantityError, capacity, shown


def read_amounts(given: Mapping[str, Any] | None, path: str) -> dict[str, int]:
    """Return the amounts in smallest units, by resource in order of name."""
    amounts = {}
    for name, value in sorted((given or {}).items()):
        field = under(path, name)
        if not is_resource(name):
            raise FieldError(field, f"found {shown(name)}, allowed is {RESOURCE_ALLOWED}")
        try:
            amounts[name] = capacity(value, name)
        except QuantityError as error:
            raise FieldError(field, str(error)) from None
    return amounts

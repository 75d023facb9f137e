"""What the Queue objects of several systems have in common: a parent, protection after a start, weights."""

from decimal import Decimal

from phalanx.dialects.mistakes import FieldError, check_name
from phalanx.dialects.timestamps import duration
from phalanx.model.quantity import shown
from phalanx.model.queue import WEIGHT_ONE

#: People compare weights with each other; beyond this only a slip is left.
WEIGHT_MAX = 1_000_000
_WEIGHT_ALLOWED = f"a number from 0 to {WEIGHT_MAX} with at most 3 decimals"


def read_parent(parent: str | None, name: str, field: str) -> str | None:
    """Return the parent that a queue names; longer circles are found when all queues are known."""
    if parent is None:
        return None
    check_name(parent, field)
    if parent == name:
        raise FieldError(field, f"found {shown(parent)}, allowed is another queue than itself")
    return parent


def read_runtime(text: str | None, field: str) -> float | None:
    """Return the seconds that work of a queue is protected."""
    try:
        return None if text is None else duration(text)
    except ValueError as error:
        raise FieldError(field, str(error)) from None


def read_weight(value: object, field: str, *, exact: bool = True) -> int:
    """Return a weight in thousandths. Not exact: rounded, but never to nothing."""
    thousandths = Decimal("NaN")
    # Numbers alone: Decimal reads words such as `1_0` and Arabic digits too.
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= WEIGHT_MAX:
        thousandths = Decimal(repr(value)) * WEIGHT_ONE
    if not thousandths.is_finite() or (exact and thousandths % 1):
        raise FieldError(field, f"found {shown(value)}, allowed is {_WEIGHT_ALLOWED}")
    return max(int(thousandths.to_integral_value()), 1) if thousandths else 0

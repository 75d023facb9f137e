"""Whether tolerations tolerate a taint: every effect, every operator."""

from collections.abc import Iterable

from phalanx.model.node import Taint
from phalanx.model.selectors import Toleration, integer

HARD = frozenset({"NoSchedule", "NoExecute"})


def tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Tell whether some toleration covers the taint."""
    return any(_covers(toleration, taint) for toleration in tolerations)


def tolerated(tolerations: Iterable[Toleration], taints: Iterable[Taint]) -> bool:
    """Tell whether no taint keeps pods with these tolerations away."""
    return all(tolerates(tolerations, taint) for taint in taints if taint.effect in HARD)


def _covers(toleration: Toleration, taint: Taint) -> bool:  # noqa: PLR0911 (one return per rule)
    """Effect and key must agree where they are given; then the operator decides."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "Exists":
            return True
        case "Equal" | "":
            return toleration.value == taint.value
        case "Gt" | "Lt":
            there, given = integer(taint.value), integer(toleration.value)
            if there is None or given is None:
                return False
            return there > given if toleration.operator == "Gt" else there < given
    return False

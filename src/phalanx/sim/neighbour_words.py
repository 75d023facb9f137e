"""The words of a scenario that say something of other pods: `repels=host`, `spread=zone:1`, `likes=zone:app=db`.

The label is that of the pods that are meant; without one, pods with all the labels of the line itself.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_FORM = re.compile(
    r"(?P<key>[A-Za-z0-9][-A-Za-z0-9_./]*)(?::(?P<skew>[0-9]{1,4}))?(?::(?P<label>[^:=,]+=[^:=,]*))?", re.ASCII
)
#: Short names of node labels.
_SHORT = {"host": "kubernetes.io/hostname"}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class Near(NamedTuple):
    """One word's value: a node label, and which pods are meant."""

    key: str
    skew: int
    label: str | None


def near(text: str) -> tuple[Near, ...]:
    """Read `KEY` or `KEY:LABEL=VALUE`, several with commas between them."""
    found = _read(text)
    if any(skew for _, skew, _ in found):
        raise ValueError("allowed is KEY or KEY:LABEL=VALUE, with commas between several")
    return found


def spread(text: str) -> tuple[Near, ...]:
    """Read `KEY:SKEW` or `KEY:SKEW:LABEL=VALUE`, several with commas between them."""
    found = _read(text)
    if any(skew < 1 for _, skew, _ in found):
        raise ValueError(
            "allowed is KEY:SKEW or KEY:SKEW:LABEL=VALUE with a skew from 1 on, with commas between several"
        )
    return found


def _read(text: str) -> tuple[Near, ...]:
    forms = [_FORM.fullmatch(part) for part in text.split(",")]
    if not all(forms):
        raise ValueError("allowed is the key of a node label, then :LABEL=VALUE of the pods that are meant")
    return tuple(
        Near(_SHORT.get(form["key"], form["key"]), int(form["skew"] or 0), form["label"]) for form in forms if form
    )


def affinity(
    labels: Mapping[str, str],
    repels: tuple[Near, ...],
    attracts: tuple[Near, ...],
    likes: tuple[Near, ...],
    dislikes: tuple[Near, ...],
) -> dict[str, Any]:
    """Return `affinity` of a pod's spec."""
    away = {_REQUIRED: _terms(labels, repels), _PREFERRED: _weighted(labels, dislikes)}
    to = {_REQUIRED: _terms(labels, attracts), _PREFERRED: _weighted(labels, likes)}
    return {"podAntiAffinity": away, "podAffinity": to}


def constraints(labels: Mapping[str, str], hard: tuple[Near, ...], soft: tuple[Near, ...]) -> list[dict[str, Any]]:
    """Return `topologySpreadConstraints` of a pod's spec."""
    both = (("DoNotSchedule", hard), ("ScheduleAnyway", soft))
    return [
        {"maxSkew": one.skew, "whenUnsatisfiable": action, **_term(labels, one)}
        for action, said in both
        for one in said
    ]


def _weighted(labels: Mapping[str, str], said: tuple[Near, ...]) -> list[dict[str, Any]]:
    return [{"weight": 100, "podAffinityTerm": _term(labels, one)} for one in said]


def _terms(labels: Mapping[str, str], said: tuple[Near, ...]) -> list[dict[str, Any]]:
    return [_term(labels, one) for one in said]


def _term(labels: Mapping[str, str], one: Near) -> dict[str, Any]:
    meant = dict(labels) if one.label is None else dict([one.label.split("=", 1)])
    return {"topologyKey": one.key, "labelSelector": {"matchLabels": meant}}

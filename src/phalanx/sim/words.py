"""The words of the scenario language: which stand on which line, and how each value is read.

A reader takes the text after `=` and returns the value, or raises ValueError with what is allowed.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from phalanx.model.axis import GPU, MEMORY
from phalanx.sim import network
from phalanx.sim.duration import seconds
from phalanx.sim.neighbour_words import near, spread

Reader: TypeAlias = Callable[[str], Any]

#: More than any cluster has; it bounds what one line can make.
COUNT_MAX = 100_000
NAME_FORM = re.compile(r"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?", re.ASCII)
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
PLACEMENTS = ("pack", "spread")
UNLIMITED = "unlimited"

#: Short names of resources, beside those that are written in full.
SHORT = {"gpu": GPU, "mem": MEMORY}
RESOURCES = ("cpu", "memory", "mem", "gpu", "ephemeral-storage")


@dataclass(frozen=True, slots=True)
class Runtime:
    """How long a gang works: `1h`, or `1h±10%` for a length drawn evenly from that range."""

    seconds: float
    spread: float = 0.0


def name(text: str) -> str:
    """Read the name of an object."""
    if len(text) > 200 or not NAME_FORM.fullmatch(text):
        raise ValueError("allowed is a name of lower-case letters, digits, - and .")
    return text


def count(least: int) -> Reader:
    """Return a reader of whole numbers from `least` on."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 10 and least <= int(text) <= COUNT_MAX):
            raise ValueError(f"allowed is a whole number from {least} to {COUNT_MAX}")
        return int(text)

    return read


def priority(text: str) -> int:
    """Read a priority: Kubernetes' int32."""
    if not re.fullmatch(r"-?[0-9]{1,10}", text, re.ASCII) or not -(2**31) <= int(text) < 2**31:
        raise ValueError("allowed is a whole number from -2147483648 to 2147483647")
    return int(text)


def port(text: str) -> int:
    """Read a host port."""
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= 65535):
        raise ValueError("allowed is a port from 1 to 65535")
    return int(text)


def runtime(text: str) -> Runtime:
    """Read a runtime: `±` may also be written `+-`."""
    length, sign, percent = text.replace("+-", "±").partition("±")
    if sign and not re.fullmatch(r"[0-9]{1,2}(\.[0-9]+)?%", percent, re.ASCII):
        raise ValueError("allowed is a duration, or one with a spread below 100%: 1h±10%")
    return Runtime(seconds(length), float(percent[:-1]) / 100 if sign else 0.0)


def placement(text: str) -> str:
    """Read how a queue's pods are spread."""
    if text not in PLACEMENTS:
        raise ValueError(f"allowed is {' or '.join(PLACEMENTS)}")
    return text


def names(text: str) -> tuple[str, ...]:
    """Read names with commas between them."""
    return tuple(name(part) for part in text.split(","))


def weight(text: str) -> float:
    """Read a weight, such as 2 or 0.5."""
    if not re.fullmatch(r"[0-9]{1,7}(\.[0-9]{1,3})?", text, re.ASCII):
        raise ValueError("allowed is a number with at most 3 decimals, such as 2 or 0.5")
    return float(text) if "." in text else int(text)


def portion(text: str) -> int | str:
    """Read a number of pods, or a percentage of them."""
    if re.fullmatch(r"[0-9]{1,2}%|100%", text, re.ASCII):
        return text
    if re.fullmatch(r"[0-9]{1,6}", text, re.ASCII) and int(text) <= COUNT_MAX:
        return int(text)
    raise ValueError(f"allowed is a whole number from 0 to {COUNT_MAX}, or a percentage from 0% to 100%")


def truth(text: str) -> bool:
    """Read true or false."""
    if text not in {"true", "false"}:
        raise ValueError("allowed is true or false")
    return text == "true"


def word(text: str) -> str:
    """Read what a node says of its devices."""
    if not re.fullmatch(r"[A-Za-z0-9](?:[-A-Za-z0-9_.,]{0,61}[A-Za-z0-9])?", text, re.ASCII):
        raise ValueError("allowed is a word such as H100 or 80Gi")
    return text


#: What equal pods have in common, on `pod` and `gang` lines.
_POD: dict[str, Reader] = {
    "created": seconds, "every": seconds, "on": name, "runtime": runtime, "until": seconds, "priority": priority,
    "port": port,
    "namespace": name, "scheduler": name, "queue": name, "patience": seconds, "preemptible": truth,
    "movable": truth, "preempts": truth, "gpu-model": str, "gpu-memory-minimum": str, "gpu-together": str,
    "gpu-fraction": str, "gpu-memory": str, "gpu-devices": str, "gpu-group": str,
    "repels": near, "attracts": near, "likes": near, "dislikes": near, "spread": spread, "spread-softly": spread,
}  # fmt: skip
_GANG: dict[str, Reader] = {
    "members": count(1), "minimum": count(1), "maximum": count(1), "subgroup": name,
    "subgroup-minimum": count(1), "apart": seconds, "start-timeout": seconds,
    "topology-required": str, "topology-preferred": str, "segment-size": count(1), "segment-topology": str,
    "topology-exclusive": str, "topology-exclusive-against": str, "topology-spread": str, "replica-of": name,
    "subgroup-topology-required": str, "subgroup-topology-preferred": str, "subgroup-segment-size": count(1),
    "subgroup-segment-topology": str, "subgroup-topology-exclusive": str, "subgroup-topology-spread": str,
    "communication": network.part, "step-bytes": network.size, "step-compute": seconds,
}  # fmt: skip
_QUEUE: dict[str, Reader] = {
    "parent": name, "priority": priority, "namespaces": names, "placement": placement, "borrowing": truth,
    "consolidation": truth, "preempt-min-runtime": seconds, "reclaim-min-runtime": seconds, "created": seconds,
}  # fmt: skip

#: Per kind of line: the words with a value.
VALUES: Mapping[str, Mapping[str, Reader]] = {
    "node": {"gpu-model": word, "gpu-memory": word, "cordoned-gpus": word, "gpu-links": word},
    "queue": _QUEUE,
    "budget": {"min-available": portion, "max-unavailable": portion, "namespace": name},
    "gang": _POD | _GANG,
    "pod": _POD,
    "network": {"speeds": network.speeds},
    "fail": {"at": seconds, "for": seconds},
    "relabel": {"at": seconds},
    "scale": {"members": count(1), "minimum": count(1), "subgroup": name, "namespace": name, "at": seconds},
}
#: Words that stand alone.
FLAGS: Mapping[str, tuple[str, ...]] = {"node": ("cordoned", "not-ready"), "pod": ("controlled",)}
#: Words that carry a key of the user's: `label:zone=a`.
PREFIXES: Mapping[str, tuple[str, ...]] = {
    "node": ("label:", "taint:"),
    "queue": ("quota:", "limit:", "weight:"),
    "budget": ("label:",),
    "relabel": ("label:",),
    "gang": ("label:", "select:", "tolerate:"),
    "pod": ("label:", "select:", "tolerate:"),
}
#: Kinds of lines on which a resource is a word.
_WITH_AMOUNTS = ("node", "gang", "pod")
#: Words that a line must have.
NEEDED: Mapping[str, tuple[str, ...]] = {
    "network": ("speeds",),
    "gang": ("members",),
    "fail": ("at",),
    "relabel": ("at",),
    "scale": ("members", "at"),
}


def resource(kind: str, word: str) -> str | None:
    """Return the resource that a word names on this kind of line, or None."""
    if kind not in _WITH_AMOUNTS or (word == "pods" and kind != "node"):
        return None
    return governed(word)


def governed(word: str) -> str | None:
    """Return the resource that a word names, or None."""
    plain = word in {*RESOURCES, "pods"}
    return SHORT.get(word, word) if plain or "/" in word or word.startswith("hugepages-") else None


def has_amounts(kind: str) -> bool:
    """Tell whether resources stand on this kind of line as words of their own."""
    return kind in _WITH_AMOUNTS


def allowed(kind: str) -> list[str]:
    """Return every word that may stand on a line of this kind, resources first."""
    resources = [*RESOURCES, "VENDOR/RESOURCE"] if kind in _WITH_AMOUNTS else []
    resources += ["pods"] if kind == "node" else []
    return [*resources, *VALUES[kind], *FLAGS.get(kind, ()), *PREFIXES.get(kind, ())]

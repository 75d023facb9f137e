"""The words of the scenario language: which stand on which line, and how each value is read.

A reader takes the text after `=` and returns the value, or raises ValueError with what is allowed.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from phalanx.model.axis import GPU, MEMORY
from phalanx.sim.duration import seconds

Reader: TypeAlias = Callable[[str], Any]

#: More than any cluster has; it bounds what one line can make.
COUNT_MAX = 100_000
NAME_FORM = re.compile(r"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?", re.ASCII)
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

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


def truth(text: str) -> bool:
    """Read true or false."""
    if text not in {"true", "false"}:
        raise ValueError("allowed is true or false")
    return text == "true"


#: What equal pods have in common, on `pod` and `gang` lines.
_POD: dict[str, Reader] = {
    "created": seconds, "every": seconds, "on": name, "runtime": runtime, "priority": priority, "port": port,
    "namespace": name, "scheduler": name, "queue": name,
}  # fmt: skip
_GANG: dict[str, Reader] = {
    "members": count(1), "minimum": count(1), "maximum": count(1), "subgroup": name,
    "subgroup-minimum": count(1), "apart": seconds, "start-timeout": seconds, "patience": seconds,
    "preemptible": truth, "topology-required": str, "topology-preferred": str,
}  # fmt: skip

#: Per kind of line: the words with a value.
VALUES: Mapping[str, Mapping[str, Reader]] = {
    "node": {},
    "gang": _POD | _GANG,
    "pod": _POD,
    "fail": {"at": seconds, "for": seconds},
    "scale": {"members": count(1), "minimum": count(1), "subgroup": name, "namespace": name, "at": seconds},
}
#: Words that stand alone.
FLAGS: Mapping[str, tuple[str, ...]] = {"node": ("cordoned", "not-ready"), "pod": ("controlled",)}
#: Words that carry a key of the user's: `label:zone=a`.
PREFIXES: Mapping[str, tuple[str, ...]] = {
    "node": ("label:", "taint:"),
    "gang": ("label:", "select:", "tolerate:"),
    "pod": ("label:", "select:", "tolerate:"),
}
#: Words that a line must have.
NEEDED: Mapping[str, tuple[str, ...]] = {"gang": ("members",), "fail": ("at",), "scale": ("members", "at")}


def resource(kind: str, word: str) -> str | None:
    """Return the resource that a word names on this kind of line, or None."""
    if kind not in PREFIXES:
        return None
    plain = word in RESOURCES or (kind == "node" and word == "pods")
    return SHORT.get(word, word) if plain or "/" in word or word.startswith("hugepages-") else None


def allowed(kind: str) -> list[str]:
    """Return every word that may stand on a line of this kind, resources first."""
    resources = [*RESOURCES, "VENDOR/RESOURCE"] if kind in PREFIXES else []
    resources += ["pods"] if kind == "node" else []
    return [*resources, *VALUES[kind], *FLAGS.get(kind, ()), *PREFIXES.get(kind, ())]

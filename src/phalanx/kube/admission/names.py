"""A key under our prefix that nobody reads: where it stands, and the nearest one that is read."""

from phalanx.kube.admission.expressions import choice, listed, mapped, text
from phalanx.model.keys import KEYS, NEAR, PREFIX, annotation, keys_of, label, pieces

_OTHER = {"annotation": "label", "label": "annotation"}
_FIELD = {"annotation": annotation, "label": label}


def mistaken(kind: str, place: str, carried: str, at: str) -> str:
    """Return what `model.keys.mistaken` says of the first wrong key in a map or a list, or an empty text."""
    known = keys_of(kind, place)
    wrong = f"{carried}.filter(k, k.startsWith({text(PREFIX)}) && !(k in {listed(known)})).sort()"
    start, end = _FIELD[place]("\n").split("\n")
    field = f"{at} + {text(start)} + k + {text(end + ': ')}"
    return f"{wrong}.map(k, {field} + {_why(kind, place)}).join('\\n').split('\\n')[0]"


def astray(place: str, carried: str, at: str) -> str:
    """Return what `model.keys.astray` says of the first of these keys, none of which the pods carry."""
    meant = {one.key: text(f"metadata.{one.place}s") for one in KEYS if "Pod" in one.on}
    start, end = _FIELD[place]("\n").split("\n")
    only = f"{text(start)} + k + {text(f'{end}: is read on pods only, allowed is ')} + {at} + {mapped(meant)}[k]"
    first = f"{carried}.sort().map(k, [k])[0]"
    return choice(
        [
            (f"{carried}.size() == 0", "''"),
            (f"{first}.all(k, k in {listed(meant)})", f"{first}.map(k, {only})[0]"),
        ],
        mistaken("Pod", place, carried, "''"),
    )


def _why(kind: str, place: str) -> str:
    """Follow `model.keys._why`."""
    here, there = keys_of(kind, place), keys_of(kind, _OTHER[place])
    elsewhere = {one.key: text(one.on[0]) for one in KEYS if kind not in one.on}
    words = ", ".join(one.removeprefix(PREFIX) for one in here)
    parts = mapped({one: listed(pieces(one.removeprefix(PREFIX))) for one in here + there})
    found = f"k.substring({len(PREFIX)}).lowerAscii().contains(p) ? 1 : 0"
    likeness = (
        f"{listed(here + there)}.map(n, {parts}[n].map(p, {found})).map(p, "
        f"200 * p.sum() / (p.size() + 2 * (k.size() - {len(PREFIX)}) - 1))"
    )
    near = (
        f"[{likeness}].map(s, s.max() < {NEAR} ? {text(f'allowed under {PREFIX} are {words}')} : "
        f"'did you mean ' + {listed(here + there)}[s.indexOf(s.max())])[0]"
    )
    return choice(
        [
            (f"k in {listed(there)}", text(f"is read as {_OTHER[place]} only, not as {place}")),
            (
                f"k in {listed(elsewhere)}",
                f"'is read on a ' + {mapped(elsewhere)}[k] + {text(f' only, not on a {kind}')}",
            ),
        ],
        f"'unknown key ' + k + ', ' + {near}",
    )

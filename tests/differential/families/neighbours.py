"""Families about other pods: affinity, anti-affinity both ways, spread."""

from collections.abc import Iterable
from random import Random
from typing import Any

from phalanx.testing.objects import Manifest
from tests.differential.case import ASKED, NAMESPACES, Case, nodes, placed, pods, some
from tests.differential.families.basic import wants_nodes

_KEYS = ("topology.kubernetes.io/zone", "rack", "kubernetes.io/hostname", "disk")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_APPS = ("x", "y", "z")


def labelled(random: Random, pod: Manifest) -> None:
    """Give a pod labels that others look for."""
    labels: dict[str, str] = pod["metadata"]["labels"]
    if random.random() < 0.85:
        labels["app"] = random.choice(_APPS)
    if random.random() < 0.5:
        labels["version"] = random.choice(("1", "2"))


def repelled(random: Random, case: Case) -> None:
    """Pods that run keep others out of their domains; those who are asked want nothing themselves."""
    standing = nodes(random)
    case.batches = [standing, _running(random, standing, 12, repels=0.6)]
    case.asked = pods(random, "p", ASKED, labelled, NAMESPACES)


def affinity(random: Random, case: Case) -> None:
    """Pods that want to be with others, or are the first of their kind."""
    standing = nodes(random)
    case.batches = [standing, _running(random, standing, 8)]

    def alter(random: Random, pod: Manifest) -> None:
        labelled(random, pod)
        _affinity(random, pod)["podAffinity"] = {_REQUIRED: _terms(random)}

    case.asked = pods(random, "p", ASKED, alter, NAMESPACES)


def anti_affinity(random: Random, case: Case) -> None:
    """Pods that want to be away from others, beside pods that want to be away from them; some want both."""
    standing = nodes(random)
    case.batches = [standing, _running(random, standing, 6, repels=0.3)]

    def alter(random: Random, pod: Manifest) -> None:
        labelled(random, pod)
        wish = _affinity(random, pod)
        wish["podAntiAffinity"] = {_REQUIRED: _terms(random)}
        if random.random() < 0.25:
            wish["podAffinity"] = {_REQUIRED: _terms(random)}

    case.asked = pods(random, "p", ASKED, alter, NAMESPACES)


def spread(random: Random, case: Case) -> None:
    """Pods that are spread over domains, with every policy about which nodes count."""
    standing = nodes(random, alter=_sometimes_tainted)
    case.batches = [standing, _running(random, standing, 16)]

    def alter(random: Random, pod: Manifest) -> None:
        labelled(random, pod)
        if random.random() < 0.3:
            wants_nodes(random, pod)
        if random.random() < 0.3:
            pod["spec"]["tolerations"] = [{"operator": "Exists"}]
        constraints = [constraint(random) for _ in range(random.choice((1, 1, 2)))]
        # No two may be about the same key and the same consequence.
        distinct = {(one["topologyKey"], one["whenUnsatisfiable"]): one for one in constraints}
        pod["spec"]["topologySpreadConstraints"] = list(distinct.values())

    case.asked = pods(random, "p", ASKED, alter, tuple(NAMESPACES)[:2])


def _sometimes_tainted(random: Random, node: Manifest) -> None:
    if random.random() < 0.2:
        node["spec"]["taints"] = [{"key": "k1", "value": "v", "effect": "NoSchedule"}]


def constraint(random: Random) -> dict[str, Any]:
    """Return a constraint that spreads pods."""
    made: dict[str, Any] = {
        "topologyKey": random.choice(_KEYS),
        "maxSkew": random.choice((1, 1, 2, 3)),
        "whenUnsatisfiable": "DoNotSchedule" if random.random() < 0.85 else "ScheduleAnyway",
        "labelSelector": selector(random),
    }
    if made["whenUnsatisfiable"] == "DoNotSchedule" and random.random() < 0.3:
        made["minDomains"] = random.randint(1, 5)
    if random.random() < 0.3:
        made["nodeAffinityPolicy"] = random.choice(("Honor", "Ignore"))
    if random.random() < 0.3:
        made["nodeTaintsPolicy"] = random.choice(("Honor", "Ignore"))
    used = {one["key"] for one in made["labelSelector"].get("matchExpressions", ())}
    used |= set(made["labelSelector"].get("matchLabels", ()))
    if random.random() < 0.2 and "version" not in used:
        made["matchLabelKeys"] = ["version"]
    return made


def _running(random: Random, standing: list[Manifest], most: int, repels: float = 0.0) -> list[Manifest]:
    def alter(random: Random, pod: Manifest) -> None:
        labelled(random, pod)
        if random.random() < repels:
            _affinity(random, pod)["podAntiAffinity"] = {_REQUIRED: _terms(random)}

    return placed(random, standing, pods(random, "r", random.randint(0, most), alter, NAMESPACES))


def _affinity(random: Random, pod: Manifest) -> dict[str, Any]:
    """Return the affinity of a pod, with a preference now and then: it must change nothing here."""
    wish: dict[str, Any] = pod["spec"].setdefault("affinity", {})
    if random.random() < 0.1:
        wish["podAffinity"] = {_PREFERRED: [{"weight": 50, "podAffinityTerm": term(random)}]}
    return wish


def _terms(random: Random) -> list[dict[str, Any]]:
    return [term(random) for _ in range(random.choice((1, 1, 1, 2)))]


def term(random: Random) -> dict[str, Any]:
    """Return a term about other pods."""
    made: dict[str, Any] = {"topologyKey": random.choice(_KEYS)}
    if random.random() < 0.95:
        made["labelSelector"] = selector(random)
    if random.random() < 0.25:
        made["namespaces"] = some(random, NAMESPACES, 2, 1)
    if random.random() < 0.25:
        made["namespaceSelector"] = random.choice(
            ({}, {"matchLabels": {"team": "a"}}, {"matchLabels": {"tier": "web"}}, {"matchLabels": {"team": "none"}})
        )
    if "labelSelector" in made and random.random() < 0.2:
        key = random.choice(("app", "version"))
        if key not in set(_keys(made["labelSelector"])):
            made[random.choice(("matchLabelKeys", "mismatchLabelKeys"))] = [key]
    return made


def _keys(chosen: dict[str, Any]) -> Iterable[str]:
    yield from chosen.get("matchLabels", ())
    yield from (one["key"] for one in chosen.get("matchExpressions", ()))


def selector(random: Random) -> dict[str, Any]:
    """Return a selector of pods."""
    kind = random.random()
    if kind < 0.6:
        return {"matchLabels": {"app": random.choice(_APPS)}}
    if kind < 0.7:
        return {}
    key, values = random.choice((("app", _APPS), ("version", ("1", "2"))))
    operator = random.choice(("In", "NotIn", "Exists", "DoesNotExist"))
    one: dict[str, Any] = {"key": key, "operator": operator}
    if operator in {"In", "NotIn"}:
        one["values"] = some(random, values, 2, 1)
    return {"matchExpressions": [one]}

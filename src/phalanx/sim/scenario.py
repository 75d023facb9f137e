"""The scenario language: a cluster, its work and its bad luck in a few aligned lines of text.

One object or happening a line, its name, then `key=value` words; `#` starts a comment; the order of lines
does not matter. Everything is checked here, so that a mistake names its line, the word and what is allowed.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from phalanx.model.quantity import QuantityError, capacity, request, shown
from phalanx.policy.spelling import nearest
from phalanx.sim import words
from phalanx.sim.lines import (
    BudgetLine,
    FailLine,
    NetworkLine,
    NodeLine,
    PodLine,
    QueueLine,
    RelabelLine,
    ScaleLine,
    Scenario,
    ScenarioError,
)
from phalanx.sim.network import communication

_RANGE = re.compile(r"(?P<stem>.*?)(?P<first>[0-9]{1,9})\.\.(?P<again>.*?)(?P<last>[0-9]{1,9})", re.ASCII)


def read_scenario(text: str, source: str = "scenario") -> Scenario:
    """Read a scenario, or raise a ScenarioError that lists every mistake as `source:line: …`."""
    scenario = Scenario(source)
    mistakes: list[tuple[int, str]] = []
    for number, raw in enumerate(text.split("\n"), start=1):
        parts = raw.split("#", 1)[0].split()
        if not parts:
            continue
        try:
            _read_line(scenario, number, parts)
        except ValueError as error:
            mistakes.append((number, str(error)))
    mistakes = mistakes or list(_across(scenario))
    if mistakes:
        raise ScenarioError("\n".join(f"{source}:{number}: {what}" for number, what in sorted(mistakes)))
    return scenario


def _read_line(scenario: Scenario, number: int, parts: list[str]) -> None:
    kind = parts[0]
    if kind not in words.VALUES:
        raise ValueError(_choice(kind, words.VALUES))
    if len(parts) < 2 or "=" in parts[1]:
        raise ValueError(f"{kind}: the name is missing: {kind} NAME {' '.join(parts[1:])}".rstrip())
    try:
        names = _expand(parts[1])
        values = _read_words(kind, parts[2:])
    except ValueError as error:
        raise ValueError(f"{kind} {parts[1]}: {error}") from None
    for position, name in enumerate(names):
        common: dict[str, Any] = {"line": number, "name": name, **values}
        plain: dict[str, tuple[list[Any], Any]] = {
            "node": (scenario.nodes, NodeLine), "queue": (scenario.queues, QueueLine),
            "budget": (scenario.budgets, BudgetLine), "network": (scenario.networks, NetworkLine),
            "scale": (scenario.scalings, ScaleLine), "relabel": (scenario.relabellings, RelabelLine),
        }  # fmt: skip
        match kind:
            case "fail":
                scenario.failures.append(FailLine(lasts=common.pop("for", None), **common))
            case _ if kind in plain:
                lines, make = plain[kind]
                lines.append(make(**common))
            case _:
                step = values.get("apart" if kind == "gang" else "every", 0.0)
                common["created"] = values.get("created", 0.0) + position * step
                scenario.pods.append(PodLine(**common))


def _read_words(kind: str, parts: list[str]) -> dict[str, Any]:
    """Return the words of a line as the fields of its dataclass."""
    found: dict[str, Any] = {}
    amounts: dict[str, str] = {}
    prefixes = words.PREFIXES.get(kind, ())
    keyed: dict[str, Any] = {prefix[:-1]: () if prefix.startswith("t") else {} for prefix in prefixes}
    for part in parts:
        word, equals, value = part.partition("=")
        prefix = f"{word.partition(':')[0]}:"
        resource = words.resource(kind, word)
        if prefix in prefixes:
            _read_keyed(keyed, prefix, part.removeprefix(prefix))
        elif word in found or resource in amounts:
            raise ValueError(f"{word}: given twice, allowed is once")
        elif part in words.FLAGS.get(kind, ()):
            found[part] = True
        elif word in words.VALUES[kind] and equals:
            found[word] = _value(word, value, words.VALUES[kind][word])
        elif resource is not None and equals:
            amounts[resource] = _amount(kind, word, resource, value)
        else:
            raise ValueError(_unknown(kind, word, part))
    missing = [word for word in words.NEEDED.get(kind, ()) if word not in found]
    if missing:
        raise ValueError(f"{missing[0]}: missing, allowed is {missing[0]}=…")
    if kind == "budget" and len({"min-available", "max-unavailable"} & set(found)) != 1:
        raise ValueError("allowed is one of min-available=… and max-unavailable=…")
    fields = {word.replace("-", "_"): value for word, value in found.items()}
    return fields | keyed | ({"amounts": amounts} if words.has_amounts(kind) else {})


def _unknown(kind: str, word: str, part: str) -> str:
    if part == word and (word in words.VALUES[kind] or words.resource(kind, word)):
        return f"{word}: the value is missing, allowed is {word}=…"
    if word in words.FLAGS.get(kind, ()):
        return f"{word}: found {part!r}, allowed is {word} without a value"
    return _choice(part, words.allowed(kind), word)


def _choice(found: str, allowed: Iterable[str], word: str | None = None) -> str:
    return f"found {shown(found)}, allowed are {', '.join(allowed)}{_meant(word or found, allowed)}"


def _meant(name: str, allowed: Iterable[str]) -> str:
    meant = nearest(name, allowed)
    return f"; did you mean {meant}?" if meant else ""


def _value(word: str, text: str, reader: words.Reader) -> Any:
    try:
        return reader(text)
    except ValueError as error:
        raise ValueError(f"{word}: found {shown(text)}, {error}") from None


def _amount(kind: str, word: str, resource: str, text: str) -> str:
    try:
        (request if kind in {"gang", "pod"} else capacity)(text, resource)
    except QuantityError as error:
        rest = f", or {words.UNLIMITED}" if kind == "queue" else ""
        raise ValueError(f"{word}: {error}{rest}") from None
    return text


def _read_keyed(keyed: dict[str, Any], prefix: str, text: str) -> None:
    """Read a word that carries a key of the user's; the forms are in the messages."""
    key, equals, value = text.partition("=")
    if prefix in words.PREFIXES["queue"]:
        _read_terms(keyed[prefix[:-1]], prefix, key, value)
        return
    if prefix in {"label:", "select:"}:
        if not (key and equals):
            raise ValueError(f"found {shown(prefix + text)}, allowed is {prefix}KEY=VALUE")
        keyed[prefix[:-1]][key] = value
        return
    rest, colon, effect = text.rpartition(":")
    if not colon and prefix == "tolerate:":
        rest, effect = text, ""
    if effect not in words.EFFECTS and not (prefix == "tolerate:" and effect == ""):
        form = "taint:KEY[=VALUE]:EFFECT" if prefix == "taint:" else "tolerate:KEY[=VALUE][:EFFECT]"
        raise ValueError(
            f"found {shown(prefix + text)}, allowed is {form} with an effect of {', '.join(words.EFFECTS)}"
            f"{_meant(effect, words.EFFECTS)}"
        )
    key, equals, value = rest.partition("=")
    keyed[prefix[:-1]] += ((key, value if equals or prefix == "taint:" else None, effect),)


def _read_terms(terms: dict[str, Any], prefix: str, key: str, value: str) -> None:
    """Read what a queue owns of one resource."""
    resource = words.governed(key)
    if resource is None or not value:
        resources = [*words.RESOURCES, "pods", "VENDOR/RESOURCE"]
        found = f"{prefix}{key}={value}" if value else prefix + key
        raise ValueError(
            f"found {shown(found)}, allowed is {prefix}RESOURCE=AMOUNT with a resource of {', '.join(resources)}"
            f"{_meant(key, words.RESOURCES) if resource is None else ''}"
        )
    if resource in terms:
        raise ValueError(f"{prefix}{key}: given twice, allowed is once")
    if prefix == "weight:":
        terms[resource] = _value(prefix + key, value, words.weight)
    elif value == words.UNLIMITED:
        terms[resource] = value
    else:
        terms[resource] = _amount("queue", prefix + key, resource, value)


def _expand(text: str) -> list[str]:
    """Return the names that `n1..n4` (or `n1..4`, `n01..n16`) stands for; a plain name is itself."""
    if ".." not in text:
        return [words.name(text)]
    form = _RANGE.fullmatch(text)
    if form is None or form["again"] not in {"", form["stem"]} or int(form["first"]) > int(form["last"]):
        raise ValueError("found a range that is none, allowed is NAME1..NAME4 with rising numbers")
    first, last = int(form["first"]), int(form["last"])
    if last - first >= words.COUNT_MAX:
        raise ValueError(f"found {last - first + 1} names, allowed are at most {words.COUNT_MAX}")
    width = len(form["first"]) if form["first"].startswith("0") else 0
    return [words.name(f"{form['stem']}{number:0{width}}") for number in range(first, last + 1)]


def _across(scenario: Scenario) -> Iterator[tuple[int, str]]:
    """Yield what is wrong between lines: names that are used twice, or that nobody has."""
    nodes = Counter(node.name for node in scenario.nodes)
    gangs = sorted({pod.name for pod in scenario.pods if pod.members is not None})
    groups = {(pod.namespace, pod.name, pod.subgroup) for pod in scenario.pods if pod.members is not None}
    yield from _twice("node", scenario.nodes)
    yield from _twice("queue", scenario.queues)
    yield from _twice("budget", scenario.budgets)
    if len(scenario.networks) > 1:
        yield scenario.networks[1].line, f"network {scenario.networks[1].name}: found another one, allowed is one"
    yield from _across_talk(scenario)
    for kind, lines in (("fail", scenario.failures), ("relabel", scenario.relabellings)):
        for one in lines:
            if one.name not in nodes:
                yield one.line, f"{kind} {one.name}: no node has this name{_meant(one.name, nodes)}"
    for scaling in scenario.scalings:
        if (scaling.namespace, scaling.name, scaling.subgroup) not in groups:
            what = f"subgroup {scaling.subgroup} of a gang" if scaling.subgroup else "gang without subgroups"
            yield scaling.line, f"scale {scaling.name}: no {what} has this name{_meant(scaling.name, gangs)}"
    yield from _across_pods(scenario, nodes)


def _across_talk(scenario: Scenario) -> Iterator[tuple[int, str]]:
    """Yield gangs that say half of what they talk, or talk over a network that nobody describes."""
    for pod in scenario.pods:
        try:
            talks = communication(pod.communication, pod.step_bytes, pod.step_compute)
        except ValueError as error:
            yield pod.line, f"gang {pod.name}: {error}"
            continue
        if talks is not None and not scenario.networks:
            yield pod.line, f"gang {pod.name}: it talks, and no line says how fast: network NAME speeds=node:400Gi,…"


def _twice(kind: str, lines: Sequence[NodeLine | QueueLine | BudgetLine]) -> Iterator[tuple[int, str]]:
    """Yield the lines whose name another one of the kind has."""
    counts = Counter((getattr(line, "namespace", ""), line.name) for line in lines)
    for line in lines:
        count = counts[getattr(line, "namespace", ""), line.name]
        if count > 1:
            yield line.line, f"{kind} {line.name}: found {count} {kind}s of this name, allowed is one"


def _across_pods(scenario: Scenario, nodes: Counter[str]) -> Iterator[tuple[int, str]]:
    """Yield pods on nodes that nobody has, names used twice, and more pods than a machine can hold."""
    gangs = {(pod.namespace, pod.name) for pod in scenario.pods if pod.members is not None}
    alone = Counter((pod.namespace, pod.name) for pod in scenario.pods if pod.members is None)
    for pod in scenario.pods:
        if pod.on is not None and pod.on not in nodes:
            yield pod.line, f"{pod.name}: on: found {pod.on}, which is no node{_meant(pod.on, nodes)}"
        if pod.until is not None and pod.until <= pod.created + pod.every * ((pod.members or 1) - 1):
            yield pod.line, f"{pod.name}: until: found a time at which not all of it is created, allowed is a later one"
        if pod.members is None and (alone[pod.namespace, pod.name] > 1 or (pod.namespace, pod.name) in gangs):
            yield pod.line, f"pod {pod.name}: found another pod or gang of this name, allowed is one"
    total = sum(pod.members or 1 for pod in scenario.pods)
    if total > 10 * words.COUNT_MAX:
        yield scenario.pods[-1].line, f"found {total} pods in all, allowed are at most {10 * words.COUNT_MAX}"

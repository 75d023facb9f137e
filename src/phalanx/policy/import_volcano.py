"""A policy from Volcano's `volcano-scheduler.conf`. What has no equal here is named in a comment."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import yaml

from phalanx import yaml_text
from phalanx.model.quantity import shown
from phalanx.policy.load import preset_text

Row = dict[str, Any]
Arguments = Mapping[str, Any]

_PRESET = "volcano"
#: Action there -> action here, or why there is none.
_ACTIONS = {"allocate": "allocate", "reclaim": "reclaim", "preempt": "preempt", "gangreclaim": "reclaim",
            "gangpreempt": "preempt"}  # fmt: skip
_NO_ACTION = {
    "enqueue": "a group is let in at once where its queue is open",
    "backfill": "pods that request nothing are placed by allocate",
    "shuffle": "pods are moved only to make room for others: action consolidate",
}
#: Plugins that are always there, in other words.
_ALWAYS = {
    "conformance": "pods of kube-system have other scheduler names, and only pods of the policy's names are evicted",
    "predicates": "pods are never bound against their own rules; single filters cannot be switched off",
    "pdb": "disruption budgets are always kept",
    "numaaware": "numa_nodes",
    "numa-aware": "numa_nodes",
}
_NO_EQUAL = {
    "overcommit": "a group is let in at once where its queue is open",
    "drf": "inside a queue priority decides, then age; user_fairness orders by users",
    "tdm": "no equal",
    "cdp": "preemptMinRuntime and reclaimMinRuntime of Phalanx's own Queue protect for a while after the start",
    "task-topology": "no equal; pod affinity among the pods of a task is honoured",
    "usage": "no equal: what pods request counts, and not what they use",
    "rescheduling": "no equal",
    "nodegroup": "no equal: a Queue with required node groups takes no new work",
    "extender": "no equal; a plugin is a Python class",
    "resourcequota": "no equal: the API server keeps quotas of namespaces when pods are made",
    "resource-strategy-fit": "no equal; resource_fit with the strategy PerResource comes near",
    "network-topology-aware": "no equal: HyperNodes are not read",
}
#: Argument of nodeorder -> (plugin, weight that it has there where nobody says one).
_NODEORDER = {
    "nodeaffinity.weight": ("node_affinity", 2), "podaffinity.weight": ("pod_affinity", 2),
    "balancedresource.weight": ("balanced_allocation", 1), "tainttoleration.weight": ("taints", 3),
    "imagelocality.weight": ("image_locality", 1), "podtopologyspread.weight": ("topology_spread", 2),
}  # fmt: skip


#: Plugin -> the arguments that are taken over; of these alone, the others are named.
_TAKEN: Mapping[str, Collection[str]] = {
    "nodeorder": {*_NODEORDER, "leastrequested.weight", "mostrequested.weight"},
    "sla": {"sla-waiting-time"},
    "deviceshare": {"deviceshare.SchedulePolicy", "deviceshare.ScheduleWeight"},
    "fairshare": {"fairshare.resourceKey", "fairshare.halfLifeMinutes"},
    "proportion": (), "capacity": (), "gang": (), "priority": (),
}  # fmt: skip


class VolcanoError(ValueError):
    """The file cannot be such a configuration: one line for a person."""


def imported(text: bytes, source: str) -> str:
    """Return a policy file."""
    conf = _document(text, source)
    base = next(iter(yaml_text.parse(preset_text(_PRESET).encode())))
    assert isinstance(base, dict)
    policy = _Importing(source, base, {row["name"]: row for row in base["plugins"]})
    policy.take_actions(conf.get("actions"))
    policy.take_plugins(list(_plugins(conf, source)))
    for key in conf.keys() - {"actions", "tiers"}:
        policy.say(f"{key}: not imported")
    said = "".join(f"#   - {line}\n" for line in policy.said)
    body = yaml.safe_dump(policy.document(), sort_keys=False, default_flow_style=None, width=100)
    return f"# Imported from {source}. What is not the same here:\n{said}{body}"


def _document(text: bytes, source: str) -> Mapping[str, Any]:
    values = [value for line, part in yaml_text.split(text) for value in yaml_text.parse(part, line)]
    found = values[0] if len(values) == 1 else None
    if isinstance(found, yaml_text.Malformed):
        raise VolcanoError(f"{source}:{found.line}: {found.message}")
    if isinstance(found, dict) and isinstance(found.get("data"), dict):
        # The ConfigMap in which Volcano's chart has it.
        inner = next((value for key, value in found["data"].items() if str(key).endswith(".conf")), None)
        if isinstance(inner, str):
            return _document(inner.encode(), source)
    if not isinstance(found, dict) or "actions" not in found:
        raise VolcanoError(
            f"{source}: found no actions, allowed is volcano-scheduler.conf or the ConfigMap that has it"
        )
    return found


def _plugins(conf: Mapping[str, Any], source: str) -> Iterator[Row]:
    """Yield the plugins of all tiers: here there is one."""
    tiers = conf.get("tiers")
    for index, tier in enumerate(tiers if isinstance(tiers, list) else []):
        for place, plugin in enumerate((tier or {}).get("plugins") or [] if isinstance(tier, dict) else []):
            if not isinstance(plugin, dict) or not isinstance(plugin.get("name"), str):
                raise VolcanoError(f"{source}: tiers[{index}].plugins[{place}].name: found {shown(plugin)}, "
                                    "allowed is the name of a plugin")  # fmt: skip
            yield plugin


class _Importing:
    """The policy as far as it is known."""

    def __init__(self, source: str, base: Mapping[str, Any], rows: dict[str, Row]) -> None:
        self.source, self.base, self.rows = source, base, rows
        self.actions: list[Row] = []
        self.share = "quota_then_weight"
        self.said: list[str] = []

    def say(self, line: str) -> None:
        """Add a line to the comment, once."""
        if line not in self.said:
            self.said.append(line)

    def document(self) -> Row:
        """Return the policy as it is written."""
        return {
            "schedulerNames": self.base["schedulerNames"], "actions": self.actions,
            "plugins": list(self.rows.values()), "share": {"name": self.share}, "search": self.base["search"],
        }  # fmt: skip

    def take_actions(self, listed: object) -> None:
        """Read `"enqueue, allocate, backfill"`."""
        names = [name.strip() for name in listed.split(",")] if isinstance(listed, str) else []
        unknown = [name for name in names if name not in _ACTIONS and name not in _NO_ACTION]
        if unknown or not any(names):
            allowed = ", ".join([*_ACTIONS, *_NO_ACTION])
            found = shown(unknown[0] if unknown else listed)
            raise VolcanoError(f"{self.source}: actions: found {found}, allowed is {allowed}")
        for name in names:
            if name in _NO_ACTION:
                self.say(f"action {name}: {_NO_ACTION[name]}")
            elif {"name": _ACTIONS[name]} not in self.actions:
                self.actions.append({"name": _ACTIONS[name]})

    def take_plugins(self, listed: list[Row]) -> None:
        """Read every plugin, and do without those that are not there."""
        given = {row["name"]: row.get("arguments") or {} for row in listed}
        absent: Arguments = dict.fromkeys([*_NODEORDER, "leastrequested.weight"], 0)
        self._nodeorder(given.get("nodeorder", absent))
        takes: dict[str, Callable[[Arguments], None]] = {
            "binpack": self._binpack, "sla": self._sla, "deviceshare": self._deviceshare, "fairshare": self._fairshare,
        }  # fmt: skip
        for name, take in takes.items():
            if name in given:
                take(given[name])
        for name in {"gang", "priority"} - given.keys():
            self.rows.pop(name)
        if not given.keys() & {"proportion", "capacity"}:
            self.say("neither proportion nor capacity: queues keep their bounds here all the same")
        elif "capacity" not in given:
            self.share = "weighted"
        for row in listed:
            self._name(row, {*takes, "nodeorder", "proportion", "capacity", "gang", "priority"})

    def _name(self, row: Row, known: Collection[str]) -> None:
        """Say what is not taken over of a plugin."""
        name = row["name"]
        if name not in known:
            self.say(f"{name}: {_ALWAYS.get(name) or _NO_EQUAL.get(name) or 'unknown plugin, no equal'}")
        arguments = row.get("arguments")
        for key in sorted(map(str, arguments.keys() - _TAKEN[name] if name in _TAKEN and arguments else ())):
            self.say(f"{name}: {key}: not imported")
        if name == "drf" and row.get("enableHierarchy") is True:
            self.say(
                "drf: enableHierarchy: the tree is that of spec.parent of Queues; volcano.sh/hierarchy is not read"
            )
        for key in sorted(row.keys() - {"name", "arguments"}):
            # The tree of queues is always there; of the others true is what is left out.
            if row[key] is not True:
                self.say(f"{name}: {key}: {str(row[key]).lower()}: not imported")

    def _nodeorder(self, arguments: Arguments) -> None:
        for key, (plugin, usual) in _NODEORDER.items():
            self.rows[plugin]["weight"] = self._weight("nodeorder", key, arguments.get(key, usual))
        least = self._weight("nodeorder", "leastrequested.weight", arguments.get("leastrequested.weight", 1))
        most = self._weight("nodeorder", "mostrequested.weight", arguments.get("mostrequested.weight", 0))
        fit = self.rows["resource_fit"]
        fit["weight"] = max(least, most)
        fit["arguments"]["strategy"] = "MostAllocated" if most > least else "LeastAllocated"

    def _binpack(self, arguments: Arguments) -> None:
        weights = {name: self._weight("binpack", f"binpack.{name}", arguments.get(f"binpack.{name}", 1))
                   for name in ("weight", "cpu", "memory")}  # fmt: skip
        resources = {name: weights[name] for name in ("cpu", "memory") if weights[name]}
        for name in str(arguments.get("binpack.resources") or "").replace(" ", "").split(","):
            key = f"binpack.resources.{name}"
            if name and (weight := self._weight("binpack", key, arguments.get(key, 1))):
                resources[name] = weight
        if self.rows["resource_fit"]["weight"]:
            self.say("binpack beside leastrequested of nodeorder: only the first counts here")
        self.rows["resource_fit"] = {
            "name": "resource_fit", "weight": weights["weight"],
            "arguments": {
                "strategy": "PerResource",
                "resources": {name: {"weight": weight, "mode": "MostAllocated"} for name, weight in resources.items()},
            },
        }  # fmt: skip

    def _sla(self, arguments: Arguments) -> None:
        after = arguments.get("sla-waiting-time")
        if isinstance(after, str):
            self.rows["ageing"] = {"name": "ageing", "arguments": {"after": after}}
        self.say("sla: the waiting time of the whole cluster alone; the annotation of a group is not read")

    def _deviceshare(self, arguments: Arguments) -> None:
        policy = arguments.get("deviceshare.SchedulePolicy", "binpack")
        self.rows["shared_devices"]["arguments"] = {"placement": "spread" if policy == "spread" else "pack"}
        weight = arguments.get("deviceshare.ScheduleWeight")
        if weight is not None:
            self.rows["shared_devices"]["weight"] = self._weight("deviceshare", "deviceshare.ScheduleWeight", weight)

    def _fairshare(self, arguments: Arguments) -> None:
        """Users are namespaces there, and so they are here unless a label is named."""
        minutes = self._weight(
            "fairshare", "fairshare.halfLifeMinutes", arguments.get("fairshare.halfLifeMinutes", 240)
        )
        resource = str(arguments.get("fairshare.resourceKey") or "nvidia.com/gpu")
        last = self.rows.pop("arrival")
        given = {"halfLife": f"{minutes or 240}m", "resources": [resource]}
        self.rows["user_fairness"] = {"name": "user_fairness", "arguments": given}
        self.rows["arrival"] = last

    def _weight(self, plugin: str, key: str, value: object) -> int:
        try:
            found = int(str(value))
        except ValueError:
            found = -1
        if not 0 <= found <= 1_000_000:
            raise VolcanoError(
                f"{self.source}: {plugin}: {key}: found {shown(value)}, allowed is a whole number from 0 to 1000000"
            )
        return found

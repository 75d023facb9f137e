"""Show a policy as the file that would give it: everything that it extends and every default written out."""

from dataclasses import fields, is_dataclass
from typing import Any

import msgspec
import yaml

from phalanx.engine.policy import Policy
from phalanx.policy.arguments import written
from phalanx.policy.registry import PLUGINS, origin


def resolved(policy: Policy) -> str:
    """Return YAML that loads to the same policy. Plugins that are not built in say where they come from."""
    lines = [_yaml({"schedulerNames": list(policy.scheduler_names)})]
    lines.append("actions:\n" if policy.actions else "actions: []\n")
    for action in policy.actions:
        lines.append(_yaml([{"name": action.name, "arguments": _arguments(action)}]))
    lines.append("plugins:\n" if policy.plugins else "plugins: []\n")
    for weighted in policy.plugins:
        name = weighted.plugin.name
        if name not in PLUGINS:
            lines.append(f"# {origin(name)}:\n")
        weight = int(weighted.weight) if weighted.weight.is_integer() else weighted.weight
        lines.append(_yaml([{"name": name, "weight": weight, "arguments": _arguments(weighted.plugin)}]))
    if policy.share is not None:
        lines.append(_yaml({"share": {"name": policy.share.name, "arguments": _arguments(policy.share)}}))
    lines.append(_yaml({"search": {"steps": policy.search_steps}}))
    lines.append(_yaml({"devices": list(policy.devices)}))
    table = [
        {"resource": one.resource} | ({"model": one.model} if one.model else {})
        | {"as": one.counts_as, "amount": one.amount} for one in policy.charges.lines
    ]  # fmt: skip
    lines.append(_yaml({"charges": table}))
    levels = [{"name": level.name, "label": level.key} for level in policy.levels or ()]
    lines.append(_yaml({"topology": {"levels": "usual" if policy.levels is None else levels}}))
    return "".join(lines)


def _arguments(made: Any) -> dict[str, Any]:
    return {
        written(one.name): _arguments(value) if is_dataclass(value) else msgspec.to_builtins(value)
        for one in fields(made)
        if one.init
        for value in [getattr(made, one.name)]
    }


def _yaml(value: Any) -> str:
    # Flow style for the innermost lists and mappings alone: one resource or one shape point per line.
    return yaml.safe_dump(value, sort_keys=False, default_flow_style=None, width=100, allow_unicode=True)

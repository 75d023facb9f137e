"""Policies for tests of plugins: built-ins by name, one's own as they are, without a file and without installing."""

from collections.abc import Sequence

from phalanx.engine.plugin import Plugin
from phalanx.engine.policy import Policy, Weighted
from phalanx.policy.registry import action_class, plugin_class


def policy_with(*plugins: Plugin | str | tuple[Plugin | str, float], actions: Sequence[str] = ("allocate",)) -> Policy:
    """Return a policy of these plugins, in this order, each with weight 1 or with the one that is given."""
    weighted = [one if isinstance(one, tuple) else (one, 1.0) for one in plugins]
    made = [Weighted(plugin_class(one)() if isinstance(one, str) else one, weight) for one, weight in weighted]
    return Policy("test", tuple(action_class(name)() for name in actions), tuple(made))

"""The registry: which class a name in a policy means. Built-ins are a table, others come by entry point."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, get_type_hints

from phalanx.engine.actions.allocate import Allocate
from phalanx.engine.actions.backfill import Backfill
from phalanx.engine.actions.consolidate import Consolidate
from phalanx.engine.actions.evict_stale import EvictStale
from phalanx.engine.actions.preempt import Preempt
from phalanx.engine.actions.reclaim import Reclaim
from phalanx.engine.plugin import Plugin, Share
from phalanx.engine.plugins.ageing import Ageing
from phalanx.engine.plugins.arrival import Arrival
from phalanx.engine.plugins.bad_nodes import BadNodes
from phalanx.engine.plugins.balanced_allocation import BalancedAllocation
from phalanx.engine.plugins.closeness import Closeness
from phalanx.engine.plugins.declared_features import DeclaredFeatures
from phalanx.engine.plugins.device_memory import DeviceMemory
from phalanx.engine.plugins.device_model import DeviceModel
from phalanx.engine.plugins.exclusive_domains import ExclusiveDomains
from phalanx.engine.plugins.fairness import Fairness
from phalanx.engine.plugins.gang import Gang
from phalanx.engine.plugins.host_ports import HostPorts
from phalanx.engine.plugins.image_locality import ImageLocality
from phalanx.engine.plugins.linked_devices import LinkedDevices
from phalanx.engine.plugins.mixed_devices import MixedDevices
from phalanx.engine.plugins.model_quota import ModelQuota
from phalanx.engine.plugins.node_affinity import NodeAffinity
from phalanx.engine.plugins.node_ready import NodeReady
from phalanx.engine.plugins.numa_nodes import NumaNodes
from phalanx.engine.plugins.patience import Patience
from phalanx.engine.plugins.pod_affinity import PodAffinity
from phalanx.engine.plugins.pod_anti_affinity import PodAntiAffinity
from phalanx.engine.plugins.priority import Priority
from phalanx.engine.plugins.quota import Quota
from phalanx.engine.plugins.resource_fit import ResourceFit
from phalanx.engine.plugins.scarce_resources import ScarceResources
from phalanx.engine.plugins.shared_devices import SharedDevices
from phalanx.engine.plugins.static_volumes import StaticVolumes
from phalanx.engine.plugins.taints import Taints
from phalanx.engine.plugins.topology_spread import TopologySpread
from phalanx.engine.plugins.user_fairness import UserFairness
from phalanx.engine.plugins.volume_binding import VolumeBinding
from phalanx.engine.plugins.volume_conflicts import VolumeConflicts
from phalanx.engine.plugins.volume_limits import VolumeLimits
from phalanx.engine.policy import Action
from phalanx.engine.shares.quota_then_weight import QuotaThenWeight
from phalanx.engine.shares.weighted import Weighted
from phalanx.model.quantity import shown
from phalanx.policy.spelling import unknown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

#: Where an installed package announces its plugins.
GROUP = "phalanx.plugins"

_BUILT_IN: tuple[type[Plugin], ...] = (
    NodeReady, Taints, NodeAffinity, DeclaredFeatures, DeviceModel, DeviceMemory, ModelQuota, PodAntiAffinity,
    PodAffinity, TopologySpread, ExclusiveDomains, BadNodes, VolumeBinding, StaticVolumes, VolumeConflicts,
    VolumeLimits,
    HostPorts, ResourceFit, MixedDevices, SharedDevices, NumaNodes, LinkedDevices, ScarceResources,
    BalancedAllocation, ImageLocality, Closeness, Ageing, Gang, Quota, Fairness, Patience, Priority, UserFairness,
    Arrival,
)  # fmt: skip

PLUGINS: Mapping[str, type[Plugin]] = {plugin.name: plugin for plugin in _BUILT_IN}
_ACTIONS: tuple[type[Action], ...] = (Allocate, Backfill, Consolidate, Reclaim, Preempt, EvictStale)
ACTIONS: Mapping[str, type[Action]] = {action.name: action for action in _ACTIONS}
#: The ways to divide the cluster among queues.
SHARES: Mapping[str, type[Share]] = {share.name: share for share in (QuotaThenWeight, Weighted)}

#: A plugin has at least one of these; a misspelt one would be passed over in silence.
_METHODS = ("room", "score", "take", "gang_key", "queue_key", "check", "mask")


class RegistryError(ValueError):
    """A name that means nothing, or a class that cannot be a plugin; the text is one line for a person."""


def plugin_class(name: str) -> type[Plugin]:
    """Return the plugin of this name. A broken package refuses only here, when it is named."""
    built_in = PLUGINS.get(name)
    if built_in is not None:
        return built_in
    offers = offered()
    if name not in offers:
        raise RegistryError(unknown("plugin", name, [*PLUGINS, *offers]))
    if len(offers[name]) > 1:
        raise RegistryError(f"offered by more than one package: {', '.join(map(package, offers[name]))}")
    return _load(offers[name][0])


def action_class(name: str) -> type[Action]:
    """Return the action of this name."""
    if name not in ACTIONS:
        raise RegistryError(unknown("action", name, ACTIONS))
    return ACTIONS[name]


def share_class(name: str) -> type[Share]:
    """Return the way of this name to divide the cluster."""
    if name not in SHARES:
        raise RegistryError(unknown("share", name, SHARES))
    return SHARES[name]


def offered() -> "Mapping[str, list[EntryPoint]]":
    """Return the entry points of every installed package, by name, without importing any of them."""
    # Here and not above: who names built-in plugins alone, as most do, need not wait for it.
    from importlib.metadata import entry_points  # noqa: PLC0415

    offers: defaultdict[str, list[EntryPoint]] = defaultdict(list)
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, package(point))):
        # One package found twice on the path is one offer.
        if all(point.value != other.value for other in offers[point.name]):
            offers[point.name].append(point)
    return dict(offers)


def origin(name: str) -> str:
    """Say where the plugin of this name comes from."""
    if name in PLUGINS:
        return "built in"
    return f"by entry point from {', '.join(map(package, offered().get(name, ())))}"


def package(point: "EntryPoint") -> str:
    """Return the name and version of the package behind an entry point."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def _load(point: "EntryPoint") -> type[Plugin]:
    """Import a plugin and check that it is one."""
    where = f"the entry point {point.value} of {package(point)}"
    try:
        loaded = point.load()
        # Hints that name what is imported for type checkers alone fail here, and not later among a user's mistakes.
        get_type_hints(loaded if isinstance(loaded, type) else Plugin)
    except Exception as error:  # noqa: BLE001 (other people's code may raise anything while it is imported)
        first_line = str(error).partition("\n")[0]
        raise RegistryError(f"{where} cannot be imported: {type(error).__name__}: {first_line}") from None
    if not (isinstance(loaded, type) and issubclass(loaded, Plugin) and is_dataclass(loaded)):
        raise RegistryError(
            f"{where}: found {shown(str(loaded))}, allowed is a dataclass derived from phalanx.plugin_api.Plugin"
        )
    if getattr(loaded, "name", None) != point.name:
        raise RegistryError(
            f"{where}: the class calls itself {shown(getattr(loaded, 'name', None))}, the entry point {point.name}"
        )
    if hasattr(loaded, "room") and not hasattr(loaded, "refusals"):
        raise RegistryError(f"{where}: has room() but not refusals(), so that nobody could be told why a node is full")
    if not (loaded.groups or any(hasattr(loaded, method) for method in _METHODS)):
        raise RegistryError(
            f"{where}: has none of {', '.join(f'{method}()' for method in _METHODS)}, so it does nothing"
        )
    return loaded

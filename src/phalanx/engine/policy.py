"""A policy: which actions, which plugins, which weights. A frozen value, resolved once."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from phalanx.engine.plugin import Filter, Order, Plugin, QueueOrder, Score, Share, Take, Veto, Victim
from phalanx.engine.session.session import Session
from phalanx.model.charges import Charges
from phalanx.model.device import DEVICE_RESOURCES
from phalanx.model.ours import Ours
from phalanx.model.sharing import Sharing
from phalanx.model.tree import Level
from phalanx.model.usage import ByUser

#: Actions that evict for a waiting gang.
TAKING = frozenset({"consolidate", "reclaim", "preempt"})


@dataclass(frozen=True, slots=True)
class Weighted:
    """A plugin with the weight of its score."""

    plugin: Plugin
    weight: float = 1.0


class Action(Protocol):
    """One stage of a cycle."""

    name: ClassVar[str]

    def run(self, session: Session, policy: "Policy") -> None:
        """Change the session, and always know the way back."""
        ...


@dataclass(frozen=True, slots=True)
class Policy:
    """What a cycle does and how it judges. The order of `plugins` is the order of filters and of keys."""

    name: str
    actions: tuple[Action, ...]
    plugins: tuple[Weighted, ...]
    scheduler_names: tuple[str, ...] = ("phalanx",)
    #: How many steps the search for room for one unit may take.
    search_steps: int = 20_000
    #: How the cluster is divided among queues; None: nobody is entitled to anything.
    share: Share | None = None
    #: Resources that are devices, beside those that nodes describe.
    devices: tuple[str, ...] = DEVICE_RESOURCES
    #: What queues count resources as.
    charges: Charges = field(default_factory=Charges)
    #: The levels of the topology tree from the top; None: the usual ones that some node has.
    levels: tuple[Level, ...] | None = None
    filters: tuple[Filter, ...] = field(init=False, repr=False)
    static_filters: tuple[Filter, ...] = field(init=False, repr=False)
    scores: tuple[tuple[Score, float], ...] = field(init=False, repr=False)
    takes_devices: tuple[tuple[Take, float], ...] = field(init=False, repr=False)
    orders: tuple[Order, ...] = field(init=False, repr=False)
    queue_orders: tuple[QueueOrder, ...] = field(init=False, repr=False)
    vetoes: tuple[Veto, ...] = field(init=False, repr=False)
    victims: tuple[Victim, ...] = field(init=False, repr=False)
    #: Vetoes that only count.
    counting: tuple[Any, ...] = field(init=False, repr=False)
    #: Some veto looks at each unit by itself.
    judges_singly: bool = field(init=False, repr=False)
    #: Plugins that take note of who was refused.
    noting: tuple[Plugin, ...] = field(init=False, repr=False)
    #: Gangs are decided whole.
    groups: bool = field(init=False, repr=False)
    #: Start timeouts count.
    requeues: bool = field(init=False, repr=False)
    #: Plugins for which placing on one node may change the answer for another. They say it request by request.
    reaching: tuple[Plugin, ...] = field(init=False, repr=False)
    #: No plugin must be asked again after each copy of every request: copies can be placed by count.
    by_count: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        plugins = [weighted.plugin for weighted in self.plugins]
        vetoes = tuple(plugin for plugin in plugins if isinstance(plugin, Veto))
        chains = {
            "filters": tuple(plugin for plugin in plugins if isinstance(plugin, Filter)),
            "static_filters": tuple(plugin for plugin in plugins if isinstance(plugin, Filter) and plugin.static),
            "scores": tuple((one.plugin, one.weight) for one in self.plugins if isinstance(one.plugin, Score)),
            "takes_devices": tuple((one.plugin, one.weight) for one in self.plugins if isinstance(one.plugin, Take)),
            "orders": tuple(plugin for plugin in plugins if isinstance(plugin, Order)),
            "queue_orders": _queue_orders(plugins),
            "vetoes": vetoes,
            "victims": tuple(plugin for plugin in plugins if isinstance(plugin, Victim)),
            "counting": tuple(veto for veto in vetoes if hasattr(veto, "copies")),
            "judges_singly": any(not hasattr(veto, "copies") for veto in vetoes),
            "noting": tuple(plugin for plugin in plugins if type(plugin).refused is not Plugin.refused),
            "groups": any(plugin.groups for plugin in plugins),
            "requeues": any(plugin.requeues for plugin in plugins),
            "reaching": tuple(plugin for plugin in plugins if plugin.reach != "node"),
            "by_count": all(one.reach == "node" or type(one).reaches is not Plugin.reaches for one in plugins),
        }
        for name, chain in chains.items():
            object.__setattr__(self, name, chain)

    @property
    def sharing(self) -> Sharing | None:
        """Return how parts are put on devices; None: no plugin says so, and no pod that asks for a part is placed."""
        return next((said for one in self.plugins if (said := one.plugin.sharing()) is not None), None)

    @property
    def by_user(self) -> ByUser | None:
        """Return whose use is remembered inside queues; None: no plugin asks."""
        return next((said for one in self.plugins if (said := one.plugin.by_user()) is not None), None)

    @property
    def ours(self) -> Ours:
        """Return whose pods are read as ours, and what of them."""
        wish = self.by_user
        return Ours(self.scheduler_names, (wish.annotation,) if wish is not None and wish.annotation else ())

    @property
    def recalls(self) -> float | None:
        """Return for how many seconds some plugin wants to know where members of gangs failed."""
        return max((span for one in self.plugins if (span := one.plugin.recalls) is not None), default=None)

    @property
    def layers(self) -> tuple[str, ...]:
        """Return the layers of islands at which some plugin looks."""
        return tuple(one.plugin.layer for one in self.plugins if one.plugin.layer)

    @property
    def backfills(self) -> bool:
        """Tell whether some action uses the gaps before a place that is kept."""
        return any(action.name == "backfill" for action in self.actions)

    @property
    def evicts(self) -> bool:
        """Tell whether some action evicts running tasks."""
        return any(getattr(action, "evicts", False) for action in self.actions)

    @property
    def takes(self) -> bool:
        """Tell whether some action makes room for waiting gangs."""
        return any(action.name in TAKING for action in self.actions)

    @property
    def reads_running(self) -> bool:
        """Tell whether some action looks at what runs."""
        return any(getattr(action, "reads_running", False) for action in self.actions)

    @property
    def label_keys(self) -> frozenset[str]:
        """Return the task labels that some plugin looks at."""
        return frozenset(key for weighted in self.plugins for key in weighted.plugin.label_keys)

    @property
    def asks(self) -> frozenset[str]:
        """Return the kinds of objects that are read only because some plugin wants them."""
        return frozenset(kind for weighted in self.plugins if weighted.weight for kind in weighted.plugin.asks)

    @property
    def reads_images(self) -> bool:
        """Tell whether some plugin looks at images."""
        return any(weighted.plugin.reads_images and weighted.weight for weighted in self.plugins)


def _queue_orders(plugins: list[Plugin]) -> tuple[QueueOrder, ...]:
    """Return what tells queues apart; nothing where nobody ranks them: then gangs of all queues stand in one line."""
    if all(plugin.only_lifts for plugin in plugins if isinstance(plugin, QueueOrder)):
        return ()
    return tuple(plugin for plugin in plugins if isinstance(plugin, QueueOrder))

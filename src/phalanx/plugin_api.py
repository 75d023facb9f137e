"""What a plugin imports: the extension points, the values they are given, and the types of their answers.

Everything else in the package may move; these names stay. docs/plugins.md explains them, and a test holds the list.
"""

from phalanx.engine.kernels.by_caps import Caps
from phalanx.engine.kernels.copy_by_copy import Count
from phalanx.engine.plugin import (
    UNLIMITED,
    Ceiling,
    Filter,
    Heads,
    Order,
    Plugin,
    PluginError,
    QueueOrder,
    Reach,
    Score,
    Take,
    Tally,
    Veto,
    Victim,
    yes_no,
)
from phalanx.engine.session.column import AMOUNTS, Column
from phalanx.engine.session.request import NOBODY, Request, When
from phalanx.engine.session.residents import Residents
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Taken, Unit, Units
from phalanx.model.axis import CPU, GPU, MEMORY, PODS, Bool, Float, Int
from phalanx.model.duration import Seconds
from phalanx.model.plan import Code, Reason, Refusals
from phalanx.model.quantity import written
from phalanx.model.snapshot import Snapshot
from phalanx.model.task import Shape

__all__ = [
    "AMOUNTS",
    "CPU",
    "GPU",
    "MEMORY",
    "NOBODY",
    "PODS",
    "UNLIMITED",
    "Bool",
    "Caps",
    "Ceiling",
    "Code",
    "Column",
    "Count",
    "Filter",
    "Float",
    "Heads",
    "Int",
    "Order",
    "Plugin",
    "PluginError",
    "QueueOrder",
    "Reach",
    "Reason",
    "Refusals",
    "Request",
    "Residents",
    "Score",
    "Seconds",
    "Session",
    "Shape",
    "Snapshot",
    "Take",
    "Taken",
    "Tally",
    "Unit",
    "Units",
    "Veto",
    "Victim",
    "When",
    "written",
    "yes_no",
]

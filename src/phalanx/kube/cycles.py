"""One cycle beside a real cluster: decide if that is due, measure it, and say what went wrong."""

from collections.abc import Callable

from phalanx.engine.invariants import Violation
from phalanx.kube.clock import Clock
from phalanx.kube.log import Log
from phalanx.kube.metrics import Metrics
from phalanx.loop import Loop
from phalanx.model.plan import Plan
from phalanx.model.snapshot import Snapshot


def decided(
    loop: Loop, clock: Clock, metrics: Metrics, log: Log, see: Callable[[Snapshot], None] = lambda _: None
) -> Plan | None:
    """Return the plan of one cycle; None: nothing was due, or a plugin failed. A broken promise is raised.

    `see`: told what the decision saw.
    """
    started, now = clock.monotonic(), clock.now()
    cause = loop.due(now)
    if cause is None:
        return None
    try:
        cycle = loop.cycle(now, cause)
    except Violation:
        metrics.violation()
        raise
    except Exception as error:  # noqa: BLE001 (a plugin's mistake must not end the process)
        metrics.violation()
        log.say("cycle-failed", why=f"{type(error).__name__}: {error}", then="nothing was decided")
        return None
    metrics.cycle(clock.monotonic() - started, cycle)
    for broken in cycle.broken:
        log.say("plan-set-aside", promise=broken.promise, gangs=", ".join(broken.gangs[:4]))
    see(cycle.snapshot)
    return cycle.plan

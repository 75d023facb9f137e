"""The process: wires the scheduler by the choices, serves health and metrics, and leaves in good order."""

import asyncio
import os
import signal
import socket
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from phalanx import __version__
from phalanx.engine.policy import Policy
from phalanx.kube.choices import Choices
from phalanx.kube.client import Client
from phalanx.kube.credentials import Access
from phalanx.kube.doctor.checkup import Checkup, with_grant
from phalanx.kube.doctor.wish import Wish
from phalanx.kube.leader import Leader
from phalanx.kube.log import Log
from phalanx.kube.metrics import Metrics
from phalanx.kube.policy_source import PolicyWatch, Source, config_map_source, file_source
from phalanx.kube.reserving.pods import Reserving
from phalanx.kube.scheduler import FAREWELL, Scheduler, Settings
from phalanx.kube.server import serve_health
from phalanx.kube.standing import Standing
from phalanx.policy.load import PolicyError, load_policy, preset_names

if TYPE_CHECKING:
    from phalanx.kube.dry_run import DryRun, Tell
    from phalanx.kube.reading import ReadingClient


async def run(
    choices: Choices, access: Access, client: Client, beside: Callable[[Scheduler], Iterable["Work"]] = lambda _: ()
) -> int:
    """Schedule until told to stop; return the exit status. `beside`: what else runs, given the scheduler."""
    log = Log(choices.log_format)
    # As client-go: two replicas on one host, or in two pod namespaces with one host name, must never be one.
    identity = f"{os.environ.get('POD_NAME') or socket.gethostname()}_{uuid.uuid4()}"
    source = _source(choices, client)
    policy, watch = await _first_policy(choices, source)
    metrics = Metrics()
    checkup = Checkup(client, access, _wish(choices), log)
    standing = checkup.standing
    leader = _leader(choices, client, identity, log, standing)
    settings = Settings(
        identity, _reserving(choices), wave_deadline=choices.wave_deadline, eviction_rate=choices.eviction_rate,
        event_rate=choices.event_rate,
    )  # fmt: skip
    scheduler = Scheduler(client, policy, leader, metrics, log, settings, standing)
    async with serve_health(choices.address, choices.port, scheduler, metrics) as port:
        log.say("started", identity=identity, policy=policy.name, port=port)
        if watch is not None and source is not None:
            watch.on_change(
                lambda fresh: scheduler.use(_named(fresh, choices)),
                lambda why: scheduler.telling.policy(source, why),
            )
        history = _history(choices, scheduler, metrics)
        others = [one for one in (standing, checkup, leader, watch, history, *beside(scheduler)) if one is not None]
        return await _until_stopped(scheduler, others)


async def run_dry(choices: Choices, client: "ReadingClient", tell: "Tell") -> int:
    """Decide and tell until told to stop, and write nothing."""
    from phalanx.kube.dry_run import DryRun  # noqa: PLC0415 (no other run needs it)

    log = Log(choices.log_format)
    source = _source(choices, client)
    policy, watch = await _first_policy(choices, source)
    metrics = Metrics()
    wish = replace(_wish(choices), dry_run=True)
    standing = Standing(log, explain=lambda fault: with_grant(fault, wish))
    dry = DryRun(client, policy, metrics, log, standing, choices.wave_deadline, tell)
    async with serve_health(choices.address, choices.port, dry, metrics) as port:
        log.say("started", dry_run=True, policy=policy.name, port=port, then="plans are printed, nothing is written")
        if watch is not None and source is not None:
            watch.on_change(lambda fresh: dry.use(_named(fresh, choices)), lambda why: dry.bad_policy(source, why))
        history = _history(choices, dry, metrics)
        others = [one for one in (standing, *dry.reflectors, watch, history) if one is not None]
        return await _until_stopped(dry, others)


def _reserving(choices: Choices) -> Reserving:
    """Return what reservation pods are like. They are where the lease is, and named after it."""
    wish, lease = choices.reservations, choices.lease
    return Reserving(
        lease.name if lease else "phalanx", lease.namespace if lease else "phalanx-system",
        wish.image or f"phalanx:{__version__}", wish.service_account, wish.priority_class, wish.runtime_class,
    )  # fmt: skip


def _source(choices: Choices, client: Client) -> Source | None:
    if choices.policy_config_map is not None:
        namespace, slash, name = choices.policy_config_map.partition("/")
        if not (namespace and slash and name):
            raise PolicyError(f"--policy-config-map: found {choices.policy_config_map}, allowed is namespace/name")
        return config_map_source(client, namespace, name)
    return None if choices.policy in preset_names() else file_source(choices.policy)


async def _first_policy(choices: Choices, source: Source | None) -> tuple[Policy, PolicyWatch | None]:
    if source is None:
        return _named(load_policy(choices.policy), choices), None
    watch = PolicyWatch(source)
    if choices.policy_config_map is None:
        # Says what every other command says of a name that is no preset and no file.
        load_policy(choices.policy)
    return _named(await watch.first(), choices), watch


def _wish(choices: Choices) -> Wish:
    namespace, _, name = (choices.policy_config_map or "").partition("/")
    return Wish(
        policy=choices.policy,
        policy_config_map=(namespace, name) if name else None,
        scheduler_names=choices.scheduler_names,
        lease=(choices.lease.namespace, choices.lease.name) if choices.lease else None,
    )


def _named(policy: Policy, choices: Choices) -> Policy:
    names = tuple(dict.fromkeys((*policy.scheduler_names, *choices.scheduler_names)))
    return replace(policy, scheduler_names=names)


def _history(choices: Choices, scheduler: "Scheduler | DryRun", metrics: Metrics) -> "Work | None":
    if choices.usage_prometheus is None:
        return None
    # Here and not above: few have use for it.
    from phalanx.kube.usage_source import UsageSource, checked_url  # noqa: PLC0415

    queues = scheduler.world.queues
    source = UsageSource(
        checked_url(choices.usage_prometheus),
        lambda: queues.usage.memory if queues.usage is not None else None,
        lambda: {queue.name: queue.uid for queue in queues.table.queues},
        scheduler.take_history, scheduler.clock, scheduler.log,
    )  # fmt: skip
    metrics.live.history = lambda: source.age
    return source


def _leader(choices: Choices, client: Client, identity: str, log: Log, standing: Standing) -> Leader | None:
    lease = choices.lease
    if lease is None:
        return None
    return Leader(
        client, lease.namespace, lease.name, identity,
        lease=lease.duration, renew=lease.renew, retry=lease.retry, log=log, standing=standing,
    )  # fmt: skip


class Work(Protocol):
    """What runs until it is cancelled."""

    async def run(self) -> None:
        """Run."""


async def _until_stopped(scheduler: "Scheduler | DryRun", others: Sequence[Work]) -> int:
    """Run everything; on SIGTERM let binds finish, give the lease back, and go."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    work = [asyncio.create_task(one.run()) for one in (scheduler, *others)]
    stopping = asyncio.create_task(stop.wait())
    done, _ = await asyncio.wait([*work, stopping], return_when=asyncio.FIRST_COMPLETED)
    if stopping not in done:
        stopping.cancel()
        for task in done:
            task.result()
    await scheduler.leave()
    for task in work:
        task.cancel()
    await asyncio.wait(work, timeout=FAREWELL)
    return 0

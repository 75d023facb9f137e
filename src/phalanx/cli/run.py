"""`phalanx run`: schedule a real cluster, beside kube-scheduler or instead of it."""

import sys
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from phalanx.cli.output import Mistake

if TYPE_CHECKING:
    from collections.abc import Iterable

    from phalanx.kube.dry_run import Tell
    from phalanx.kube.process import Work
    from phalanx.kube.scheduler import Scheduler
    from phalanx.model.plan import Plan

Name = Annotated[tuple[str, ...], Parameter(name="--scheduler-name", negative=(), show_default=False)]


def register(app: App) -> None:
    """Add the command."""
    app.command(run)


def run(
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
    policy: str = "default",
    policy_config_map: str | None = None,
    scheduler_name: Name = (),
    leader_election: bool = True,
    lease_namespace: str = "phalanx-system",
    lease_name: str = "phalanx",
    lease_duration: float = 15.0,
    renew_deadline: float = 10.0,
    retry_period: float = 2.0,
    wave_deadline: float = 120.0,
    eviction_rate: float = 500.0,
    event_rate: float = 100.0,
    address: str = "127.0.0.1",
    port: int = 10261,
    log_format: Literal["text", "json"] = "text",
    usage_prometheus: str | None = None,
    reservation_image: str = "",
    reservation_service_account: str = "",
    reservation_priority_class: str = "",
    reservation_runtime_class: str = "",
    volcano_jobs: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    dry_run: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
) -> int:
    """Schedule a real cluster: pods whose schedulerName is ours.

    Parameters
    ----------
    kubeconfig
        A kubeconfig file. Without it: KUBECONFIG, the usual file, or the service account of the pod we run in.
    context
        The context in it, if not the current one.
    policy
        The name of a preset, or a file that is looked at again when it changes.
    policy_config_map
        `namespace/name` of a ConfigMap whose key policy.yaml is the policy, looked at again when it changes.
    scheduler_name
        A scheduler name to serve besides the policy's; may be given several times.
    leader_election
        Only one replica writes at a time. Without it there must be only one replica.
    lease_namespace
        The namespace of the lease.
    lease_name
        The name of the lease.
    lease_duration
        Seconds after which others may take over a lease that is not renewed.
    renew_deadline
        Seconds after the last renewal at which this replica stops writing.
    retry_period
        Seconds between renewals.
    wave_deadline
        Seconds after which a gang that is not whole steps back.
    eviction_rate
        How many pods are asked to leave in a second, at most.
    event_rate
        How many events are written in a second, at most; 0 writes none.
    address
        Where /healthz, /readyz and /metrics are served.
    port
        The port for them; 0 takes a free one.
    log_format
        text for people, json for programs.
    usage_prometheus
        The address of a Prometheus that scrapes this scheduler: what queues used is read there, not in their status.
    reservation_image
        The image of pods that keep shared GPUs: that of this scheduler, unless told otherwise.
    reservation_service_account
        Their service account; it needs no rights.
    reservation_priority_class
        Their priority class: higher than that of any pod which wants a GPU, so that none takes theirs.
    reservation_runtime_class
        Their runtime class, where GPUs need one.
    volcano_jobs
        Be the controller of Volcano's Jobs too: make their groups and pods, carry out their policies, open and close
        its Queues by Commands, and make groups for pods that name none, as long as Volcano's own controller is not
        there. It needs rights of its own: see docs/volcano.md.
    dry_run
        Watch and decide as always, print each plan that says something new, and write nothing: no bind, no event, no
        lease. It needs no right but to read.
    """
    # Here and not above: whoever asks for help need not wait for the network libraries.
    from phalanx.kube.choices import Choices, Lease, ListenError, Reservations  # noqa: PLC0415
    from phalanx.kube.credentials import AccessError  # noqa: PLC0415
    from phalanx.kube.standing import Hopeless  # noqa: PLC0415
    from phalanx.kube.start import serve  # noqa: PLC0415
    from phalanx.policy.mistake import PolicyError  # noqa: PLC0415

    if not 0 < retry_period < renew_deadline < lease_duration:
        raise Mistake(
            f"--retry-period {retry_period:g}, --renew-deadline {renew_deadline:g}, --lease-duration "
            f"{lease_duration:g}: allowed are rising numbers above 0"
        )
    lease = Lease(lease_namespace, lease_name, lease_duration, renew_deadline, retry_period)
    choices = Choices(
        kubeconfig, context, policy, policy_config_map, scheduler_name, lease if leader_election else None,
        wave_deadline, address, port, log_format, usage_prometheus, eviction_rate,
        event_rate, Reservations(
            reservation_image, reservation_service_account, reservation_priority_class, reservation_runtime_class
        ),
    )  # fmt: skip
    if not 0 < eviction_rate <= 1_000_000:
        raise Mistake(f"--eviction-rate {eviction_rate:g}: allowed is a number above 0, at most 1000000")
    if not 0 <= event_rate <= 10_000:
        raise Mistake(f"--event-rate {event_rate:g}: allowed is a number from 0 to 10000")
    if usage_prometheus is not None:
        _check_prometheus(usage_prometheus)
    try:
        return serve(choices, _printer() if dry_run else None, _jobs if volcano_jobs else lambda _: ())
    except ListenError as mistake:
        remedy = "stop what listens there (another phalanx run?), or give another with --port (0 takes any free one)"
        raise Mistake(f"{mistake}\nto mend it: {remedy}") from None
    except (AccessError, PolicyError, Hopeless) as mistake:
        raise Mistake(str(mistake)) from None


def _jobs(scheduler: "Scheduler") -> "Iterable[Work]":
    """Return the controllers of Volcano's Jobs, of its Queues, and of groups for pods that have none."""
    # Few have use for them.
    from phalanx.controllers.volcano.controller import Controller  # noqa: PLC0415
    from phalanx.controllers.volcano.plain_groups import PlainGroups  # noqa: PLC0415
    from phalanx.controllers.volcano.queues import Queues  # noqa: PLC0415

    jobs = Controller(scheduler)
    return (jobs, Queues(scheduler, jobs.rival), PlainGroups(scheduler, jobs.rival))


def _printer() -> "Tell":
    """Return what prints the plans of a dry run."""
    from phalanx.cli.lines import print_lines  # noqa: PLC0415
    from phalanx.cli.plan_news import PlanNews  # noqa: PLC0415 (as above)

    news = PlanNews()

    def tell(plan: "Plan") -> None:
        block = news.block(plan)
        if block:
            print_lines(block)
            sys.stdout.flush()

    return tell


def _check_prometheus(url: str) -> None:
    # Here and not above: few have use for it.
    from phalanx.kube.usage_source import HistoryError, checked_url  # noqa: PLC0415

    try:
        checked_url(url)
    except HistoryError as mistake:
        raise Mistake(str(mistake)) from None

"""What the command line of `phalanx run` chose. Nothing heavy is loaded for it."""

from dataclasses import dataclass
from typing import Literal


class ListenError(Exception):
    """The address cannot be listened on; the text is one line."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The lease that the leader holds."""

    namespace: str
    name: str
    duration: float
    renew: float
    retry: float


@dataclass(frozen=True, slots=True)
class Reservations:
    """What pods that keep shared GPUs are made of; empty: what the cluster does without a word."""

    image: str = ""
    service_account: str = ""
    priority_class: str = ""
    runtime_class: str = ""


@dataclass(frozen=True, slots=True)
class Choices:
    """What the command line said."""

    kubeconfig: str | None
    context: str | None
    policy: str
    policy_config_map: str | None
    scheduler_names: tuple[str, ...]
    lease: Lease | None
    wave_deadline: float
    address: str
    port: int
    log_format: Literal["text", "json"]
    #: The address of a Prometheus that keeps the history of use.
    usage_prometheus: str | None = None
    #: Evictions per second.
    eviction_rate: float = 500.0
    #: Events per second; 0: none.
    event_rate: float = 100.0
    reservations: Reservations = Reservations()

"""What `phalanx run` would be started with: the doctor looks at what that needs."""

from dataclasses import dataclass

#: A namespace and a name in it.
Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Wish:
    """The options of `phalanx run` that say which cluster, whose pods, which lease and which port."""

    kubeconfig: str | None = None
    context: str | None = None
    policy: str = "default"
    policy_config_map: Place | None = None
    scheduler_names: tuple[str, ...] = ()
    #: None: without leader election.
    lease: Place | None = ("phalanx-system", "phalanx")
    address: str = "127.0.0.1"
    port: int = 10261
    #: Nothing is written: no lease, and no right but to read.
    dry_run: bool = False

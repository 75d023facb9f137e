"""A reference to an object of the cluster, as books and messages call it."""

from typing import NamedTuple


class Reference(NamedTuple):
    """One object by its kind and name; shown as `Kind namespace/name`."""

    #: `PodGroup`; of a system that is neither Kubernetes nor Phalanx with its API group, `PodGroup.scheduling.run.ai`.
    kind: str
    #: `namespace/name`, or the name alone of an object outside any namespace.
    full_name: str

    @property
    def bare_kind(self) -> str:
        """Return the kind as the API spells it, without the group."""
        return self.kind.partition(".")[0]

    @property
    def namespace(self) -> str:
        """Return the namespace; empty outside any."""
        return self.full_name.rpartition("/")[0]

    @property
    def name(self) -> str:
        """Return the name inside the namespace."""
        return self.full_name.rpartition("/")[2]

    def __str__(self) -> str:
        return f"{self.kind} {self.full_name}".rstrip()

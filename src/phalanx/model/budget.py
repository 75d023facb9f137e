"""A disruption budget: how many of some pods may be asked to leave, on top of those that are away already."""

from dataclasses import dataclass

from phalanx.model.selectors import LabelSelector


@dataclass(frozen=True, slots=True)
class Portion:
    """A number of pods, or a percentage of those that there should be."""

    amount: int
    percent: bool = False

    def of(self, expected: int) -> int:
        """Return the number. Half a pod is a whole one, as the disruption controller counts."""
        return -(-expected * self.amount // 100) if self.percent else self.amount


@dataclass(frozen=True, slots=True)
class Budget:
    """A PodDisruptionBudget. Of `minimum` and `maximum` at most one is there."""

    namespace: str
    name: str
    #: Whom it covers in its namespace; None: nobody.
    selector: LabelSelector | None
    #: How many must be there.
    minimum: Portion | None = None
    #: How many may be away.
    maximum: Portion | None = None
    #: How many more may leave, and how many must stay, as its status says; None: nobody has counted yet.
    allowed: int | None = None
    healthy: int | None = None
    uid: str = ""

    @property
    def full_name(self) -> str:
        """Return `namespace/name`."""
        return f"{self.namespace}/{self.name}"

    def allows(self, running: int, expected: int) -> int:
        """Return how many more may leave while so many run, of as many as there should be.

        What the status says is bounded by what runs: a pod may have left since it was written.
        """
        if self.allowed is not None:
            most = self.allowed if self.healthy is None else min(self.allowed, running - self.healthy)
        elif self.minimum is not None:
            most = running - self.minimum.of(expected)
        elif self.maximum is not None:
            most = running - max(expected - self.maximum.of(expected), 0)
        else:
            most = 0
        return max(most, 0)

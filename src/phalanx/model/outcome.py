"""What became of a step: the cluster's answer, which goes back into the world as an event does."""

from dataclasses import dataclass
from enum import Enum


class Result(Enum):
    """The three answers a write can have. A timeout is not a refusal: most of those did land."""

    OK = "ok"
    REFUSED = "refused"
    #: Keeps its charge until the truth is read back.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Bound:
    """The answer to one bind."""

    uid: str
    node: str
    result: Result
    at: float


@dataclass(frozen=True, slots=True)
class Evicted:
    """The answer to one eviction. What is not refused is under way, or was gone before we asked."""

    uid: str
    result: Result


Outcome = Bound | Evicted

"""What the doctor found: one thing, how it is, and the one remedy."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from phalanx.kube.client import Reply
from phalanx.kube.fault import Fault


class Mark(Enum):
    """How a thing is."""

    OK = "ok"
    #: Not there, and not needed.
    ABSENT = "absent"
    #: `phalanx run` works, and somebody should look at this.
    WARNING = "warning"
    FAILED = "failed"
    #: Nobody could look, mostly because something above failed.
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the table."""

    about: str
    mark: Mark
    says: str
    #: The command or the step that mends it, or that brings what is absent.
    remedy: str | None = None

    def __post_init__(self) -> None:
        assert self.remedy or not self.wrong, f"{self.about}: what is wrong needs a remedy"

    @property
    def wrong(self) -> bool:
        """Tell whether somebody should do something."""
        return self.mark in {Mark.WARNING, Mark.FAILED}


def ok(about: str, says: str) -> Finding:
    """Return a finding of something that is as it should be."""
    return Finding(about, Mark.OK, says)


def absent(about: str, says: str, remedy: str | None = None) -> Finding:
    """Return a finding of something that need not be there."""
    return Finding(about, Mark.ABSENT, says, remedy)


def warning(about: str, says: str, remedy: str) -> Finding:
    """Return a finding that somebody should look at."""
    return Finding(about, Mark.WARNING, says, remedy)


def failed(about: str, says: str, remedy: str) -> Finding:
    """Return a finding of something without which `phalanx run` does not work as it should."""
    return Finding(about, Mark.FAILED, says, remedy)


def skipped(about: str, says: str) -> Finding:
    """Return a finding of something that could not be looked at."""
    return Finding(about, Mark.SKIPPED, says)


def all_skipped(abouts: Iterable[str], why: str) -> list[Finding]:
    """Return a finding for each thing that cannot be looked at because another failed."""
    return [skipped(about, why) for about in abouts]


def unread(about: str, reply: Reply) -> Finding:
    """Return the finding of something that the server does not show us."""
    why = "this user may not see it" if reply.status == 403 else f"cannot be read: {reply.message}"
    return skipped(about, why)


def faulty(about: str, fault: Fault, remedy: str) -> Finding:
    """Return the finding behind a trouble with the API server; `remedy` where the trouble has none."""
    return failed(about, fault.why, fault.remedy or remedy)

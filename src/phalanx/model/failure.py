"""Failures: on which nodes members of gangs failed, or were lost with the node."""

from typing import NamedTuple


class Failure(NamedTuple):
    """One member's, while at least half of its gang was up on other nodes."""

    node: str
    at: float
    #: The node was not ready, or not there, when the member was lost.
    lost: bool

"""The server's clock beside ours."""

from phalanx.kube.client import Reply
from phalanx.kube.clock import stamp
from phalanx.kube.doctor.finding import Finding, ok, skipped, warning

ABOUT = "clock"
#: The server tells whole seconds, and an answer takes its time.
_TOLERANCE = 2.0


def look_at_clock(reply: Reply, asked: float, answered: float) -> Finding:
    """Compare an answer's time with ours, before and after it."""
    theirs = reply.given_at
    if theirs is None:
        return skipped(ABOUT, "the server does not say what time it is")
    ahead = max(asked - theirs, 0.0) or min(answered - theirs, 0.0)
    if abs(ahead) <= _TOLERANCE:
        return ok(ABOUT, "as the API server's")
    way = "ahead of" if ahead > 0 else "behind"
    says = (
        f"{abs(ahead):.0f} s {way} the API server's, which says {stamp(theirs)}: "
        "timeouts and waiting times of gangs are off by as much"
    )
    return warning(ABOUT, says, "set this machine's clock by the network: timedatectl set-ntp true")

"""A trouble is told when it begins, changes and ends, once for all who meet it."""

import ssl
from io import StringIO

import pytest

from phalanx.kube.client import Reply, Unanswered
from phalanx.kube.clock import Clock
from phalanx.kube.fault import Fault, Trouble, refused, silent
from phalanx.kube.log import Log
from phalanx.kube.standing import Hopeless, Standing

KINDS = [f"Kind{number} (v1)" for number in range(11)]
LEASE = "the lease phalanx-system/phalanx"
REFUSED = Fault(Trouble.AWAY, "connection refused")
LOST = Fault(Trouble.AWAY, "connection lost")


class Story(Clock):
    """A standing whose clock the test turns."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.said = StringIO()
        self.standing = Standing(Log(stream=self.said, clock=self), self)

    def now(self) -> float:
        return 1_800_000_000.0 + self.seconds

    def monotonic(self) -> float:
        return self.seconds

    def bad(self, fault: Fault, *who: str) -> None:
        for name in who:
            self.standing.bad(name, fault)

    def good(self, *who: str) -> None:
        for name in who:
            self.standing.good(name)

    def after(self, seconds: float) -> list[str]:
        """Let time pass, as the loop does; return what was said meanwhile."""
        before = len(self.said.getvalue())
        for _ in range(int(seconds * 4)):
            self.seconds += 0.25
            self.standing.tell()
        return [line.split(" ", 1)[1] for line in self.said.getvalue()[before:].splitlines()]


def test_a_server_that_goes_away_is_one_line_a_reminder_and_one_line_more() -> None:
    story = Story()
    story.bad(LOST, *KINDS)
    story.seconds += 0.5
    story.bad(REFUSED, *KINDS, LEASE)
    assert story.after(299.0) == [
        f'api-server-away why="connection refused" waiting="11 kinds and {LEASE}"',
    ]
    story.bad(REFUSED, *KINDS, LEASE)
    assert story.after(10.0) == [
        f'api-server-away why="connection refused" waiting="11 kinds and {LEASE}" since="5 min"',
    ]
    story.good(*KINDS)
    assert story.after(10.0) == []
    story.good(LEASE)
    assert story.after(10.0) == ['api-server-back after="5 min"']
    assert story.after(1000.0) == []


def test_another_reason_is_told_but_not_each_time_that_it_flickers() -> None:
    story = Story()
    story.bad(REFUSED, *KINDS)
    story.after(2.0)
    timeout = Fault(Trouble.AWAY, "no answer in time")
    for fault in (timeout, REFUSED, timeout):
        story.bad(fault, *KINDS)
        assert story.after(1.0) == []
    assert story.after(60.0) == ['api-server-away why="no answer in time" waiting="11 kinds" since="31 s"']


def test_what_is_over_in_a_moment_is_not_told() -> None:
    story = Story()
    story.bad(LOST, *KINDS)
    story.seconds += 0.5
    story.good(*KINDS)
    assert story.after(60.0) == []


def test_a_server_that_takes_every_watch_and_ends_it_again_is_told() -> None:
    story = Story()
    said: list[str] = []
    for _ in range(20):
        story.bad(LOST, *KINDS)
        said += story.after(0.25)
        story.good(*KINDS)
        said += story.after(0.5)
    assert said == ['api-server-away why="connection lost" waiting="11 kinds"']
    assert story.after(10.0) == ['api-server-back after="14 s"']


def test_rights_are_a_trouble_of_their_own_beside_a_server_that_is_away() -> None:
    story = Story()
    rights = Fault(Trouble.RIGHTS, "alice may not list nodes", "kubectl …")
    story.bad(rights, KINDS[0])
    story.bad(REFUSED, LEASE)
    assert story.after(5.0) == [
        'rights-missing why="alice may not list nodes" waiting="Kind0 (v1)" remedy="kubectl …"',
        f'api-server-away why="connection refused" waiting="{LEASE}"',
    ]
    # The same one meets another trouble: the first is over for it.
    story.bad(REFUSED, KINDS[0])
    assert story.after(5.0) == ['rights-granted after="5 s"']


def test_everybody_who_backs_off_is_called_when_the_server_is_back_but_not_all_the_time() -> None:
    story = Story()
    calls: list[float] = []
    story.standing.on_back.append(lambda: calls.append(story.seconds))
    story.good(LEASE)
    assert calls == []
    story.bad(REFUSED, *KINDS, LEASE)
    story.after(5.0)
    story.good(*KINDS)
    assert calls == [5.0]
    story.bad(REFUSED, *KINDS)
    story.after(1.0)
    story.good(*KINDS)
    assert calls == [5.0]


def test_a_trouble_that_lasts_makes_us_not_ready_and_says_why() -> None:
    story = Story()
    story.bad(REFUSED, LEASE)
    story.bad(Fault(Trouble.RIGHTS, "no events", blocking=False), "rights")
    story.after(29.0)
    assert story.standing.blocks == []
    story.after(1.0)
    assert story.standing.blocks == ["api-server-away for 30 s: connection refused"]
    story.good(LEASE)
    assert story.standing.blocks == []


def test_a_start_that_can_come_to_nothing_ends_and_one_that_worked_goes_on() -> None:
    expired = Fault(Trouble.CREDENTIALS, "expired", "renew it", hopeless=True)
    story = Story()
    story.bad(expired, *KINDS)
    with pytest.raises(Hopeless, match=r"^credentials refused: expired\nto mend it: renew it$"):
        story.after(3.0)
    story = Story()
    story.good(KINDS[0])
    story.bad(expired, *KINDS)
    assert len(story.after(10.0)) == 1


def test_errors_have_one_text_whatever_was_asked() -> None:
    def unanswered(error: Exception) -> Fault:
        silence = Unanswered("GET /api/v1/pods: whatever")
        silence.__cause__ = error
        return silent(silence)

    assert unanswered(ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 6443)")) == REFUSED
    assert unanswered(ConnectionResetError(104, "reset")) == LOST
    assert unanswered(TimeoutError()).why == "no answer in time"
    assert unanswered(OSError(113, "No route to host")).why == "OSError No route to host"
    untrusted = ssl.SSLCertVerificationError()
    untrusted.verify_message = "self-signed certificate"
    found = unanswered(untrusted)
    assert (found.trouble, found.why) == (Trouble.UNTRUSTED, "its certificate is not trusted: self-signed certificate")


@pytest.mark.parametrize(
    ("status", "message", "trouble"),
    [
        (401, "Unauthorized", Trouble.CREDENTIALS),
        (403, 'pods is forbidden: User "a" cannot list resource "pods" in API group ""', Trouble.RIGHTS),
        (403, "leases is forbidden: the namespace is being terminated", Trouble.REFUSED),
        (404, "not found", Trouble.REFUSED),
        (429, "too many requests", Trouble.AWAY),
        (503, "etcd is away", Trouble.AWAY),
    ],
)
def test_a_refusal_is_sorted_by_what_mends_it(status: int, message: str, trouble: Trouble) -> None:
    assert refused(Reply(status, f'{{"message": {message!r}}}'.replace("'", '"').encode(), {})).trouble is trouble

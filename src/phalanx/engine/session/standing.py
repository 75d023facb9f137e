"""Standing: how many pods a column counts in each row, as it concerns a request."""

from phalanx.engine.session.ledger import Standing
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import Int


def counted(session: Session, request: Request, column: str) -> Int:
    """Return [row, count]: all that a column counts, now or later as the request says."""

    def answer() -> Int:
        own, priority = session.own_promise(request.gang), session.priority(request)
        return session.ledger.counted(column, request.when, own, priority)

    return session.once(("counted", column, session.view(request)), answer)


def standing(session: Session, request: Request, column: str) -> Standing:
    """Return the counts of a column of one count, now or later as the request says."""
    view = session.view(request)

    def answer() -> Standing:
        return session.ledger.standing(
            column, request.when, session.own_promise(request.gang), session.priority(request)
        )

    return session.once(("standing", column, view), answer)

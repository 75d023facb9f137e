"""Equal tasks placed at once lie as they would one after the other: placement by count, held against itself."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from phalanx.engine.opening import open_session
from phalanx.engine.placement.find import NO_TASKS, find
from phalanx.engine.policy import Policy
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.snapshot import Snapshot


def check_in_turn(snapshot: Snapshot, policy: Policy, request: Request, books: Callable[[Session], object]) -> None:
    """Assert it by the books; that as many fit as the filters said and not one more; that a rollback undoes all."""
    at_once, in_turn = open_session(snapshot, policy), open_session(snapshot, policy)
    start, before = at_once.checkpoint(), books(at_once)
    places = find(at_once, policy, request)
    if len(places):
        at_once.take(request, NO_TASKS, places)
    one = replace(request, count=1)
    for place in places.tolist():
        in_turn.take(one, NO_TASKS, np.array([place]))
    assert books(at_once) == books(in_turn)
    if len(places) < request.count:
        assert not len(find(in_turn, policy, one))
    at_once.rollback(start)
    assert books(at_once) == before

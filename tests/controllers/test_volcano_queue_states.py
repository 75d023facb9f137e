"""Queues of Volcano are opened and closed: each Command, and what follows for the queues below. The pure part."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.controllers.volcano.queue_states import (
    CLOSE_QUEUE,
    CLOSED,
    CLOSING,
    OPEN,
    OPEN_QUEUE,
    ROOT,
    Seen,
    Step,
    asked,
    following,
)


def tree(**states: str) -> dict[str, Seen]:
    """Return queues: `lab` with `a` and `b` below it, and the root."""
    parents = {"root": "", "lab": ROOT, "a": "lab", "b": "lab"}
    found = {}
    for name, parent in parents.items():
        state, _, mark = states.get(name, OPEN).partition("*")
        found[name] = Seen(name, f"uid-{name}", parent, state, bool(mark) or states.get(name, "").endswith("*"))
    return found


def settled(queues: Mapping[str, Seen], groups: Mapping[str, int], *steps: Step) -> dict[str, str]:
    """Carry out steps and all that follows; return the states, with a star where the queue above did it."""
    there, pending = dict(queues), list(steps)
    for _ in range(20):
        for step in pending:
            old = there[step.queue.name]
            marked = old.by_parent if step.by_parent is None else step.by_parent
            there[old.name] = Seen(old.name, old.uid, old.parent, step.state or old.state, marked)
        pending = list(following(there, groups))
        if not pending:
            return {name: f"{one.state}{'*' if one.by_parent else ''}" for name, one in there.items()}
    raise AssertionError(f"it does not end: {pending}")


def ask(action: str, name: str, queues: Mapping[str, Seen], groups: Mapping[str, int]) -> dict[str, str]:
    return settled(queues, groups, asked(queues[name], queues, groups, action))


def test_an_empty_queue_is_closed_at_once_and_one_with_groups_when_the_last_is_gone() -> None:
    assert ask(CLOSE_QUEUE, "a", tree(), {})["a"] == CLOSED
    assert ask(CLOSE_QUEUE, "a", tree(), {"a": 2})["a"] == CLOSING
    assert settled(tree(a=CLOSING), {"a": 1})["a"] == CLOSING
    assert settled(tree(a=CLOSING), {"b": 1})["a"] == CLOSED
    assert ask(OPEN_QUEUE, "a", tree(a=CLOSING), {"a": 1})["a"] == OPEN


def test_who_closes_a_queue_closes_those_below_it_and_opens_these_again_and_no_others() -> None:
    closed = {"root": OPEN, "lab": CLOSED, "a": "Closing*", "b": CLOSED}
    assert ask(CLOSE_QUEUE, "lab", tree(b=CLOSED), {"a": 1}) == closed
    opened = {"root": OPEN, "lab": OPEN, "a": OPEN, "b": CLOSED}
    assert ask(OPEN_QUEUE, "lab", tree(lab=CLOSED, a="Closed*", b=CLOSED), {}) == opened


@pytest.mark.parametrize(
    ("action", "name", "refusal"),
    [
        (CLOSE_QUEUE, "root", "the queue root cannot be closed"),
        (OPEN_QUEUE, "a", "the queue lab above it is Closed: open that first"),
        ("AbortJob", "a", "action AbortJob is not for queues, allowed is OpenQueue, CloseQueue"),
    ],
)
def test_what_cannot_be_done_says_why(action: str, name: str, refusal: str) -> None:
    queues = tree(lab=CLOSED, a="Closed*")
    assert asked(queues[name], queues, {}, action) == Step(queues[name], action=action, refusal=refusal)


def test_a_queue_that_comes_below_a_closed_one_is_closed_and_nothing_is_written_twice() -> None:
    assert settled(tree(lab=CLOSED, a="", b=CLOSED), {})["a"] == "Closed*"
    queues = tree(a=CLOSED)
    assert asked(queues["a"], queues, {}, CLOSE_QUEUE) == Step(queues["a"])
    assert asked(queues["b"], queues, {}, OPEN_QUEUE) == Step(queues["b"])


STATES = st.sampled_from([OPEN, CLOSED, CLOSING, "", "Closed*", "Closing*"])


@given(
    st.fixed_dictionaries(dict.fromkeys(("lab", "a", "b"), STATES)),
    st.dictionaries(st.sampled_from(["lab", "a", "b"]), st.integers(0, 2)),
    st.lists(st.tuples(st.sampled_from([OPEN_QUEUE, CLOSE_QUEUE]), st.sampled_from(["lab", "a", "b"])), max_size=6),
)
def test_it_always_ends_and_nothing_below_a_closed_queue_is_open(
    states: dict[str, str], groups: dict[str, int], asks: list[tuple[str, str]]
) -> None:
    queues = tree(**states)
    for action, name in [(OPEN_QUEUE, "root"), *asks]:
        found = ask(action, name, queues, groups)
        queues = tree(**found)
        if found["lab"].startswith(("Closed", "Closing")):
            assert OPEN not in {found["a"], found["b"]}
        assert all(one != CLOSING or groups.get(name) for name, one in found.items())

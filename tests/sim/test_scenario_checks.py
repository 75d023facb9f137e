"""`phalanx.testing`: a check compares whole plans and shows what differs."""

import pytest

from phalanx.model.plan import Bind
from phalanx.testing import ScenarioError, check, plan, run_text

GIVEN = """
    node n1..n2 gpu=8
    gang big    members=2 minimum=3 gpu=8 priority=9
    gang tiny   members=1 gpu=1             # a comment
"""


def test_a_plan_is_compared_whole_and_an_ellipsis_accepts_any_rest() -> None:
    check(GIVEN, expect="wait big 2 held: 2 of 3 members are there\n\n   bind  tiny-0   n1")
    check(GIVEN, expect="wait big 2 held: …\nbind tiny-0…")


@pytest.mark.parametrize(
    ("expect", "difference"),
    [
        ("bind tiny-0 n1", ["+ wait big 2 held: 2 of 3 members are there", "  bind tiny-0 n1"]),
        ("wait big…\nbind tiny-0 n2", ["  wait big…", "- bind tiny-0 n2", "+ bind tiny-0 n1"]),
        ("wait big…\nbind tiny-0 n1\nbind x n1", ["  wait big…", "  bind tiny-0 n1", "- bind x n1"]),
        ("bind tiny-0 n1\nwait big…", ["+ wait big…", "  bind tiny-0 n1", "- wait big…"]),
    ],
)
def test_a_step_too_many_too_few_or_in_another_place_fails_with_a_difference(
    expect: str, difference: list[str]
) -> None:
    with pytest.raises(AssertionError) as raised:
        check(GIVEN, expect)
    assert str(raised.value).splitlines() == ["the plan is another one (- expected, + found):", *difference]


def test_several_cycles_follow_each_other_and_now_leaves_out_who_comes_later() -> None:
    given = "node n1 gpu=1\npod a gpu=1\npod b gpu=1 created=1m"
    check(given, "bind a n1", now="30s")
    check(given, "bind a n1\nwait b 1 full: …\ncycle 2\nwait b 1 full: …", cycles=2)
    assert plan(given, now="0s").binds == (Bind("default/a", "default:a:1", "n1", "default/a", "Pod/default:a:1"),)


def test_the_order_of_lines_does_not_matter() -> None:
    lines = GIVEN.strip().splitlines()
    assert plan("\n".join(lines)) == plan("\n".join(reversed(lines)))


def test_what_happens_over_time_belongs_into_a_run() -> None:
    given = "node n1 gpu=1\nfail n1 at=1m\ngang g members=1 gpu=1"
    with pytest.raises(ScenarioError, match="fail, scale and until happen over time"):
        plan(given)
    assert run_text(given, until="30s") == "at 0s\nbind g-0 n1"

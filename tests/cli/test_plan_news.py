"""What a dry run prints: each plan's news, and nothing of what was said already."""

from phalanx.cli.plan_news import PlanNews
from phalanx.model.plan import Bind, Code, Evict, Plan, Reason, Refusals, Step, Wait

NOON = 1_793_534_400.0
BIND = tuple(Bind(f"ml/train-{index}", f"u{index}", "n1", "ml/train", "gang/ml/train") for index in range(2))


def wait(gang: str, missing: int, text: str, plugin: str = "resource_fit") -> Wait:
    reason = Reason(Code.FULL, text, missing, 0, 1, (Refusals(plugin, 1, text),))
    return Wait(gang, f"gang/{gang}", missing, reason)


def told(news: PlanNews, *steps: Step, later: float = 0.0) -> list[str]:
    return [line for line, _ in news.block(Plan(NOON + later, steps))]


def test_a_plan_is_told_once_and_then_only_what_is_new_in_it() -> None:
    news = PlanNews()
    big = wait("ml/big", 4, "1 short of cpu")
    assert told(news, *BIND, big) == [
        "2026-11-01T12:00:00Z  would do now",
        "  bind  ml/train  2 pods: n1 ×2  (train-0, train-1)",
        "  wait  ml/big    4 pods  full: 1 short of cpu",
    ]
    assert told(news, *BIND, big, later=60.0) == []
    assert told(news, *BIND, big, wait("ml/late", 2, "1 short of cpu"), later=61.5) == [
        "2026-11-01T12:01:01Z  would do now",
        "  wait  ml/late  2 pods  full: 1 short of cpu",
        "  as before: 1 bind, 1 wait",
    ]


def test_figures_in_a_reason_are_no_news_and_another_filter_or_number_of_pods_is() -> None:
    news = PlanNews()
    told(news, wait("ml/big", 4, "3 short of cpu"))
    assert told(news, wait("ml/big", 4, "2 short of cpu")) == []
    assert told(news, wait("ml/big", 4, "2 cordoned", "node_ready"))[1:] == ["  wait  ml/big  4 pods  full: 2 cordoned"]
    assert told(news, wait("ml/big", 3, "2 cordoned", "node_ready"))[1:] == ["  wait  ml/big  3 pods  full: 2 cordoned"]


def test_other_places_alone_are_no_news_and_are_counted_with_what_is() -> None:
    news = PlanNews()
    told(news, *BIND)
    moved = [bind._replace(node="n2") for bind in BIND]
    assert told(news, *moved) == []
    assert told(news, *BIND, wait("ml/late", 2, "1 short of cpu"))[2:] == [
        "  as before: 1 bind; 1 of them with other places"
    ]


def test_an_eviction_is_told_once_for_whom_it_is() -> None:
    news = PlanNews()
    evict = Evict("ml/a", "u", "n1", "preempt", "ml/b", "1 of 3 with a lower priority")
    assert told(news, evict)[1:] == ["  evict  ml/a  n1  (preempt for ml/b: 1 of 3 with a lower priority)"]
    assert told(news, evict._replace(reason="1 of 2 with a lower priority")) == []
    assert told(news, evict._replace(beneficiary="ml/c"))[1:2] != []


def test_who_is_no_longer_in_the_plan_is_told_once() -> None:
    news = PlanNews()
    told(news, *BIND)
    assert told(news)[1:] == ["  over  ml/train  it has its places, or is gone"]
    assert told(news) == []


def test_the_first_plan_is_told_even_if_nothing_is_to_do() -> None:
    assert told(PlanNews()) == ["2026-11-01T12:00:00Z  would do now", "  nothing"]

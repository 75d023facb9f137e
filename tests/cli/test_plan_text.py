"""The text of a plan stays readable however many gangs wait."""

from phalanx.cli.plan_text import aligned, rows
from phalanx.model.plan import Bind, Code, Plan, Reason, Step, Wait


def wait(gang: str, missing: int, why: str) -> Wait:
    return Wait(gang, f"gang/{gang}", missing, Reason(Code.FULL, why))


def told(*steps: Step) -> list[str]:
    return [line for line, _ in aligned(rows(Plan(0.0, steps)))]


def test_of_many_gangs_that_wait_for_the_same_reason_the_first_is_named_and_the_others_are_counted() -> None:
    """It stands where the first of them stands, and what waits for something else keeps its own line."""
    many = [wait(f"ml/train-{number}", 8, "8 needed together, 2 fit") for number in range(200)]
    other = wait("ml/big", 16, "16 needed together, 2 fit")
    bind = Bind("ml/a-0", "u", "n1", "ml/a", "gang/ml/a")
    assert told(many[0], other, bind, *many[1:]) == [
        "  wait  ml/train-0 and 199 gangs more  1,600 pods  full: 8 needed together, 2 fit",
        "  wait  ml/big                         16 pods  full: 16 needed together, 2 fit",
        "  bind  ml/a                           1 pod: n1  (a-0)",
    ]


def test_a_few_gangs_are_all_named() -> None:
    few = [wait(f"ml/train-{number}", 8, "8 needed together, 2 fit") for number in range(5)]
    assert told(*few) == [f"  wait  ml/train-{n}  8 pods  full: 8 needed together, 2 fit" for n in range(5)]

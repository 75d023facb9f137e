"""How stories look and end: every word comes from what the simulator did."""

import pytest

from phalanx.policy.load import load_policy
from phalanx.sim.ending import ending, first_to_start
from phalanx.sim.picture import Palette, draw, legend
from phalanx.sim.stories import Frame, play, story_text
from phalanx.sim.telling import gathered


def played(text: str, policy: str) -> tuple[list[Frame], list[str], str]:
    """Return the frames, the ending, and who started first."""
    simulator, frames = play(text, load_policy(policy))
    seen = list(frames)
    return seen, ending(simulator, seen), first_to_start(simulator)


def pictures(frames: list[Frame]) -> list[str]:
    palette = Palette()
    return ["  ".join(draw(row, palette).plain for row in frame.rows) for frame in frames]


DEADLOCK = (
    "training holds 6 and inference holds 4 GPUs: neither gang is whole, nothing ever starts; "
    "10 of 10 GPUs held, 0 working."
)
TRAINING_WAITS = (
    "training waits 59m15s (8 GPUs needed, 5 free) and starts whole at 1h6m15s (5 on n1, 3 on n2), when inference ends."
)


@pytest.mark.parametrize(
    ("story", "policy", "told"),
    [
        ("deadlock", "pod-by-pod", [DEADLOCK]),
        ("deadlock", "default", ["inference starts whole at 6m15s (5 on n1).", TRAINING_WAITS]),
        ("complete-at-once", "default", [
            "training starts whole at 7m (5 on n1, 3 on n2).",
            "inference waits 2h (5 GPUs needed, 2 free) and starts whole at 2h7m (5 on n1), when training ends.",
        ]),
        ("fragmentation", "pod-by-pod", [
            "small-1…8 start at 0s (4 on n1, 4 on n2).",
            "large waits 3h50m (8 GPUs needed, 8 free: 4 on n1, 4 on n2) and starts at 4h (on n1), when small-1…8 end.",
        ]),
        ("fragmentation", "default", ["small-1…8 start at 0s (8 on n1).", "large starts at 10m (on n2)."]),
        ("packing", "pod-by-pod", [
            "render starts whole at 0s (2 on n1, 1 on n2).", "Scaled to 5: 3 on n1, 2 on n2.",
        ]),
        ("packing", "default", ["render starts whole at 0s (3 on n1).", "Scaled to 5: 4 on n1, 1 on n2."]),
    ],
)  # fmt: skip
def test_the_stories_end_as_told(story: str, policy: str, told: list[str]) -> None:
    assert played(story_text(story), policy)[1] == told


def test_of_two_gangs_complete_at_once_the_older_one_starts_first() -> None:
    assert played(story_text("complete-at-once"), "default")[2] == "the older one starts first"
    assert played(story_text("deadlock"), "default")[2] == "the younger one starts first"
    assert played(story_text("deadlock"), "pod-by-pod")[2] == "no one starts"


def test_the_picture_brackets_each_pod_and_small_letters_hold_without_working() -> None:
    frames, _, _ = played(
        """
        node n1   gpu=5
        node n2   gpu=2
        gang two  members=2 gpu=2 runtime=1h
        pod  tiny gpu=1 created=1m
        gang torn members=3 gpu=1 created=2m
        fail n2   at=3m
        """,
        "pod-by-pod",
    )
    assert pictures(frames) == [
        "n1 [T  T][T  T][ ]  n2 [ ][ ]",
        "n1 [T  T][T  T][I]  n2 [ ][ ]",
        "n1 [T  T][T  T][I]  n2 [o][o]",
        "n1 [T  T][T  T][I]  n2  down ",
        "n1 [I][O][O][O][ ]  n2  down ",
    ]
    palette = Palette()
    assert legend(["two", "tiny"], palette).plain == "T two, I tiny; a small letter holds its place and does no work"


def test_a_gang_that_never_starts_is_told_with_its_reason_and_failures_and_returns_are_told() -> None:
    frames, told, _ = played(
        """
        node n1..n2 gpu=1
        gang g      members=2 gpu=1 runtime=1h
        fail n2     at=1m for=1m
        pod  large  gpu=2 created=5m
        """,
        "default",
    )
    assert [frame.lines[0] for frame in frames[:3]] == ["g-0 → n1", "n2 fails", "n2 is back"]
    assert told[0] == "g starts whole at 0s (1 on n1, 1 on n2)."
    assert told[1].startswith("large never starts: 0/2 nodes: ")


def test_names_are_gathered_in_short() -> None:
    names = ["a-0", "a-1", "a-2", "b", "c1", "a-4", "a-5"]
    assert gathered(names) == "a-0…2,4,5, b, c1"

"""`phalanx demo`: it ends by itself, shows every step, and its verdict is the simulator's."""

import time
from textwrap import dedent

import pytest

from phalanx.cli import storytelling
from phalanx.cli.main import main


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storytelling, "_PAUSE_SECONDS", 0.0)
    monkeypatch.setenv("COLUMNS", "80")


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["demo", *arguments]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return "\n".join(line.rstrip() for line in printed.out.splitlines()) + "\n"


def test_the_packing_story_is_shown_step_by_step_with_pictures_and_a_verdict(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert shown(capsys, "--story", "packing") == dedent("""\
         1  Packing a group  ───────────────────────────────────────────────────────────
        Two nodes with 8 dongles. A gang whose pods take 2 each, and of which 3 are
        enough; after an hour it is scaled to 5.
        R render; a small letter holds its place and does no work

        pod-by-pod: every pod decided alone, as kube-scheduler does by default
             0s  n1 [R  R][R  R][ ][ ][ ][ ]  n2 [R  R][ ][ ][ ][ ][ ][ ]
                 render-0,2 → n1
                 render-1 → n2
             1h  n1 [R  R][R  R][R  R][ ][ ]  n2 [R  R][R  R][ ][ ][ ][ ]
                 render is scaled to 5
                 render-3 → n2
                 render-4 → n1
             3h  n1 [ ][ ][ ][ ][ ][ ][ ][ ]  n2 [ ][ ][ ][ ][ ][ ][ ][ ]
                 render ends
                 ⇒ render starts whole at 0s (2 on n1, 1 on n2).
                 ⇒ Scaled to 5: 3 on n1, 2 on n2.

        default: Phalanx, all together or not at all
             0s  n1 [R  R][R  R][R  R][ ][ ]  n2 [ ][ ][ ][ ][ ][ ][ ][ ]
                 render-0…2 → n1
             1h  n1 [R  R][R  R][R  R][R  R]  n2 [R  R][ ][ ][ ][ ][ ][ ]
                 render is scaled to 5
                 render-3 → n1
                 render-4 → n2
             3h  n1 [ ][ ][ ][ ][ ][ ][ ][ ]  n2 [ ][ ][ ][ ][ ][ ][ ][ ]
                 render ends
                 ⇒ render starts whole at 0s (3 on n1).
                 ⇒ Scaled to 5: 4 on n1, 1 on n2.

         The verdict  ──────────────────────────────────────────────────────────────────

         story    policy      started  makespan  idle  held idle  fragmented
         ────────────────────────────────────────────────────────────────────
         packing  pod-by-pod   1 of 1        3h   46%         0%        100%
                  default      1 of 1        3h   46%         0%         64%

        idle: GPUs (or dongles) that do no work, over time; held idle: those among them
        that a gang holds and cannot use; fragmented: free ones on nodes that are partly
        used.
    """)


def test_all_three_stories_are_played_under_both_policies_and_fit_eighty_columns(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = shown(capsys).splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split("─")[0].strip() for line in lines if line.endswith("──")] == [
        "1  Deadlock",
        "2  Fragmentation",
        "3  Packing a group",
        "The verdict",
        "",
    ]
    assert [" ".join(line.split()) for line in lines if line.endswith("%")] == [
        "deadlock pod-by-pod 0 of 2 never 100% 50% 86%",
        "default 2 of 2 3h6m15s 32% 0% 40%",
        "fragmentation pod-by-pod 9 of 9 5h 50% 0% 80%",
        "default 9 of 9 4h 38% 0% 0%",
        "packing pod-by-pod 1 of 1 3h 46% 0% 100%",
        "default 1 of 1 3h 46% 0% 64%",
    ]


def test_the_deadlock_has_a_second_ending(capsys: pytest.CaptureFixture[str]) -> None:
    words = " ".join(shown(capsys, "--story", "deadlock").split())
    assert "⇒ When both gangs are complete at once, the older one starts first: training starts whole at 7m" in words


def test_on_a_terminal_there_is_a_pause_after_each_step_and_fast_skips_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    monkeypatch.setattr(storytelling, "_PAUSE_SECONDS", 0.25)
    monkeypatch.setenv("FORCE_COLOR", "1")
    main(["demo", "--story", "packing"])
    main(["demo", "--story", "packing", "--fast"])
    assert pauses == [0.25] * 6 + [0.0] * 6
    assert "\x1b[1;36m[R  R]" in capsys.readouterr().out


def test_a_story_that_is_none_is_refused_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--story", "packin"]) == 2
    assert capsys.readouterr().err == (
        "phalanx: demo: --story: found 'packin', allowed are deadlock, fragmentation, packing; did you mean packing?\n"
    )

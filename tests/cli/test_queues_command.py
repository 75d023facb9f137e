"""`phalanx queues`: the tree says what each queue owns, has, borrows and asks for, with and without colours."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from phalanx.cli.main import main
from phalanx.cli.queue_accounts import Account, Accounts
from phalanx.cli.queue_bar import ASCII, Bar, Signs, short, signs_for
from phalanx.cli.queue_tree_text import tree
from phalanx.model.queue import UNLIMITED
from phalanx.sim.documents import node_document, pod_document, queue_document
from phalanx.sim.scenario import read_scenario

Captured = pytest.CaptureFixture[str]

TEAMS = """
node   n1..n8      gpu=8 cpu=64
queue  research    quota:gpu=32
queue  team-a      parent=research quota:gpu=16 limit:gpu=40 weight:gpu=3
queue  team-b      parent=research quota:gpu=16
queue  inference   quota:gpu=16 borrowing=false
queue  lost        parent=reserch quota:gpu=4
queue  below-lost  parent=lost
pod    a1..a8      gpu=1 queue=team-a on=n1
pod    b1..b8      gpu=1 queue=team-a on=n2
pod    c1..c8      gpu=1 queue=team-a on=n3
pod    d1..d6      gpu=1 queue=inference on=n4
pod    w1..w20     gpu=1 queue=team-a
pod    v1..v4      gpu=8 queue=team-b
pod    x           gpu=1 queue=lost
pod    y           gpu=1
"""
#: For a plan: nothing waits for a queue that is not there.
WHOLE = "\n".join(line for line in TEAMS.splitlines() if not line.startswith(("pod    x", "pod    y")))


TREE = """\
nvidia.com/gpu  quota  share  allocated  pending  0                           64
inference          16      6          6        0  ███│    ]
research           32     58         24       52  ███████████················│··
├ team-a           16     36         24       20  ████████▒▒▒······│·]·
└ team-b           16     22          0       32  ··········│····
█ within quota   ▒ borrowed   · pending   │ share   ] limit   64 to divide

set aside Queue below-lost: spec.parent: Queue lost is set aside: spec.parent: there is no Queue reserch
set aside Queue lost: spec.parent: there is no Queue reserch
in no queue 1 gang (default/x): metadata.labels[phalanx.dev/queue]: Queue lost is set aside: spec.parent: there is no \
Queue reserch
in no queue 1 gang (default/y): metadata.labels[phalanx.dev/queue]: missing, and there is no Queue default
"""
PLAIN = """\
There is no Queue: everybody is in one queue, default, without bounds.
  default: allocated cpu 500m, nvidia.com/gpu 2; 1 gang waits
"""


def manifests(scenario: str) -> str:
    """Return a scenario as a List of Kubernetes objects."""
    said = read_scenario(scenario)
    items = [node_document(line) for line in said.nodes] + [queue_document(line) for line in said.queues]
    items += [pod_document(line, line.name, line.created, "phalanx") for line in said.pods]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


@pytest.fixture
def teams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", "80")
    path = tmp_path / "teams.json"
    path.write_text(manifests(TEAMS))
    return str(path)


def run(capsys: Captured, *arguments: str) -> tuple[int, str, str]:
    status = main(["queues", *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_the_tree_shows_who_has_what_and_below_it_what_is_wrong(capsys: Captured, teams: str) -> None:
    assert run(capsys, "-f", teams) == (0, TREE, "")


def test_a_wider_terminal_shows_limits_and_what_is_borrowed_as_numbers_too(capsys: Captured, teams: str) -> None:
    _, text, _ = run(capsys, "-f", teams, "--width", "120")
    assert text.splitlines()[0].split() == [
        *("nvidia.com/gpu", "quota", "limit", "share", "allocated", "borrowed", "pending", "0", "64"),
    ]
    assert text.splitlines()[3].split()[:8] == ["├", "team-a", "16", "40", "36", "24", "8", "20"]
    assert {len(line) <= 120 for line in text.splitlines()[:6]} == {True}


def row(queue: str, parent: str | None, **amounts: Any) -> dict[str, Any]:
    gpus = {key: {} if value is ... else {"nvidia.com/gpu": value} for key, value in amounts.items()}
    return {"queue": queue, "parent": parent, "problem": None, **gpus}


LOST = {"allocated": {}, "requested": {}, "share": {}, "quota": {}, "limit": {}, "pending": 0}
ROWS = [
    {
        "queue": "below-lost",
        "parent": "lost",
        **LOST,
        "problem": "Queue below-lost: spec.parent: Queue lost is set aside: spec.parent: there is no Queue reserch",
    },
    row("inference", None, allocated="6", requested="6", share="6", quota="16", limit="16") | {"pending": 0},
    {"queue": "lost", "parent": "reserch", **LOST, "problem": "Queue lost: spec.parent: there is no Queue reserch"},
    row("research", None, allocated="24", requested="76", share="58", quota="32", limit=None) | {"pending": 24},
    row("team-a", "research", allocated="24", requested="44", share="36", quota="16", limit="40") | {"pending": 20},
    row("team-b", "research", allocated="0", requested="32", share="22", quota="16", limit=None) | {"pending": 4},
]


def test_programs_get_every_queue_by_name_with_canonical_quantities(capsys: Captured, teams: str) -> None:
    _, text, _ = run(capsys, "-f", teams, "-o", "json")
    assert json.loads(text) == {"queues": ROWS}
    _, text, _ = run(capsys, "-f", teams, "-o", "yaml")
    assert yaml.safe_load(text) == {"queues": ROWS}


def test_a_plan_ends_with_the_queues_as_they_are_after_the_last_cycle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    path = tmp_path / "whole.json"
    path.write_text(manifests(WHOLE))
    assert main(["plan", "-f", str(path)]) == 0
    plan, _, queues = capsys.readouterr().out.partition(" wait (")
    assert plan.count("bind ") > 0
    said, _, queues = queues.partition("\n\n")
    drawn = queues.splitlines()
    assert (said.count("\n"), drawn[0].split()[0], len(drawn)) == (0, "nvidia.com/gpu", 9)
    assert drawn[-1] == "set aside Queue lost: spec.parent: there is no Queue reserch"
    assert main(["plan", "-f", str(path), "-o", "json"]) == 0
    rows = {one["queue"]: one for one in json.loads(capsys.readouterr().out)["queues"]}
    assert list(rows) == ["below-lost", "inference", "lost", "research", "team-a", "team-b"]
    assert rows["team-a"]["share"] == {"nvidia.com/gpu": "36"}
    taken = {name: rows[name]["allocated"]["nvidia.com/gpu"] for name in ("inference", "team-a", "team-b", "research")}
    # Two GPUs stay free: the pods of team-b need eight on one node, and team-a is at its limit.
    assert taken == {"inference": "6", "team-a": "40", "team-b": "16", "research": "56"}


def test_without_queue_objects_there_is_one_queue_without_bounds(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "plain.json"
    path.write_text(manifests("node n1 gpu=8\npod a gpu=2 cpu=500m on=n1\npod b gpu=1"))
    assert run(capsys, "-f", str(path)) == (0, PLAIN, "")
    _, text, _ = run(capsys, "-f", str(path), "-o", "json")
    assert json.loads(text)["queues"] == [
        {
            "queue": "default", "parent": None, "allocated": {"cpu": "500m", "nvidia.com/gpu": "2"}, "share": {},
            "quota": {}, "limit": {}, "requested": {}, "pending": 1, "problem": None,
        }
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["teams.json"], "queues: found teams.json, allowed are options alone: -f teams.json, if that is a file"),
        (["-f", "nowhere.json"], "nowhere.json: no such file or directory"),
        (["-f", "TEAMS", "--widht=3"], "queues: unknown option --widht=3; see phalanx queues --help"),
        (["-f", "TEAMS", "--width", "0"], "queues: --width: found 0, allowed is a whole number from 1 to 1000"),
        (
            ["-f", "TEAMS", "--resource", "cpu"],
            "queues: --resource: found 'cpu', allowed is what some queue lists: nvidia.com/gpu",
        ),
        (
            ["-f", "TEAMS", "--context", "prod"],
            "queues: found -f with --kubeconfig or --context, allowed is one of files and a cluster",
        ),
        (["--now", "2026-11-01T12:00:00Z"], "queues: --now: a cluster has its own time, allowed is --now only with -f"),
        (["--kubeconfig", "nowhere"], "kubeconfig nowhere: no such file or directory"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], complaint: str, teams: str, capsys: Captured) -> None:
    status, out, err = run(capsys, *[teams if one == "TEAMS" else one for one in arguments])
    assert (status, out, err.lower()) == (2, "", f"phalanx: {complaint}\n".lower())


def test_an_output_that_cannot_show_blocks_gets_plain_characters() -> None:
    assert (signs_for("utf-8"), signs_for("ascii"), signs_for("latin-1")) == (Signs(), ASCII, ASCII)


def test_the_resource_can_be_chosen_and_bytes_are_short(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "memory.json"
    path.write_text(
        manifests("node n1 gpu=8 mem=1536Gi\nqueue q quota:mem=1Ti quota:gpu=4\npod a mem=300Gi queue=q on=n1")
    )
    _, text, _ = run(capsys, "-f", str(path), "--resource", "mem", "--width", "80")
    first, second, _ = text.splitlines()
    assert first.split() == ["memory", "quota", "share", "allocated", "pending", "0", "1.5Ti"]
    assert second.split()[:5] == ["q", "1Ti", "300Gi", "300Gi", "0"]


@pytest.mark.parametrize(
    ("amount", "resource", "text"),
    [
        (None, "cpu", "-"),
        (UNLIMITED, "cpu", "∞"),
        (1500, "cpu", "1.5"),
        (12_345_000, "nvidia.com/gpu", "12,345"),
        (0, "memory", "0"),
        (2**40 + 2**39, "memory", "1.5Ti"),
    ],
)
def test_amounts_are_short(amount: int | None, resource: str, text: str) -> None:
    assert short(amount, resource, Signs()) == text


_AMOUNT = st.one_of(st.integers(0, 40), st.integers(0, UNLIMITED - 1))


@given(
    _AMOUNT, _AMOUNT, _AMOUNT, st.one_of(_AMOUNT, st.just(UNLIMITED)), st.one_of(_AMOUNT, st.just(UNLIMITED)), _AMOUNT
)
def test_a_bar_never_leaves_its_room_and_shows_whatever_is_there(
    used: int, more: int, share: int, quota: int, limit: int, total: int
) -> None:
    account = Account("q", None, {"r": used}, {"r": used + more}, {"r": share}, {"r": quota}, {"r": limit})
    bar = Bar("r", 20, max(total, used, share), Signs())
    text = "".join(piece for piece, _ in bar.draw(account))
    assert len(text) <= 20
    assert ("│" in text or "]" in text) or not share
    assert text.strip() or not used


@given(st.integers(1, 200), st.integers(1, 12))
def test_a_tree_of_any_depth_keeps_to_the_width(width: int, depth: int) -> None:
    queues = [Account(f"q{level}" * 9, f"q{level - 1}" * 9 if level else None) for level in range(depth)]
    lines = tree(Accounts(tuple(queues), {"cpu": 4000}), ["cpu"], width, Signs())
    longest = max(len("".join(text for text, _ in line)) for line in lines[:-1])
    assert (len(lines), longest <= max(width, 72)) == (depth + 2, True)

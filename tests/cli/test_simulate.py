"""`phalanx simulate`: a report as text or JSON, one line for a mistake, and Ctrl-C keeps what ran."""

import io
import json
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from phalanx.cli import simulating
from phalanx.cli.main import main
from phalanx.sim import words
from phalanx.sim.scenario import read_scenario
from phalanx.sim.simulator import FOREVER, Moment, Simulator
from phalanx.sim.timeline import timeline

SCENARIO = "node n1 gpu=2\ngang g members=2 gpu=1 created=1m runtime=1h±10%\npod p gpu=1 created=2m runtime=1h"


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    path = tmp_path / "two.scenario"
    path.write_text(SCENARIO)
    return str(path)


def test_the_report_is_printed(capsys: pytest.CaptureFixture[str], scenario: str) -> None:
    assert main(["simulate", scenario]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.startswith(f"{scenario} under default, seed 0\n2 gangs on 1 node with 2 GPUs\n")
    assert "  gangs          2 started, 2 finished, 0 never started\n" in printed.out


def test_the_report_as_json_holds_the_seed_and_every_number_and_repeats_exactly(
    capsys: pytest.CaptureFixture[str], scenario: str
) -> None:
    outputs = []
    for seed in ("3", "3", "4"):
        assert main(["simulate", scenario, "--seed", seed, "--policy", "pod-by-pod", "-o", "json"]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] != outputs[2]
    found = json.loads(outputs[0])
    assert list(found) == [
        "scenario", "policy", "seed", "end", "cycles", "interrupted", "nodes", "gangs", "started", "finished", "lost",
        "interruptions", "evictions", "never_started", "waiting", "makespan", "device", "cpu", "fragmentation",
        "held_over_time", "working_over_time", "queues", "users", "closeness", "splits", "job_times",
    ]  # fmt: skip
    assert (found["seed"], found["policy"], found["started"]) == (3, "pod-by-pod", 2)


def test_time_can_be_limited_and_the_scenario_can_come_from_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(SCENARIO))
    assert main(["simulate", "-", "--until", "30m", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["end"], found["started"], found["finished"]) == (1800, 1, 0)


def test_cycles_can_be_made_rarer(capsys: pytest.CaptureFixture[str], scenario: str) -> None:
    assert main(["simulate", scenario, "--interval", "1h", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["cycles"], found["waiting"]["p99"]) == (4, (1 + 60 + 60 - 2) * 60)


def test_a_directory_of_manifests_is_simulated_and_what_is_bad_in_it_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "bad.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: bad}\nspec: {containers: 5}\n")
    examples = Path(__file__).parents[2] / "examples" / "fragmentation"
    for path in examples.glob("*.yaml"):
        (tmp_path / path.name).write_text(path.read_text())
    assert main(["simulate", str(tmp_path), "-o", "json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["started"] == 9
    assert printed.err.startswith(f"phalanx: {tmp_path}/bad.yaml: Pod default/bad: spec.containers: ")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["missing.scenario"], "missing.scenario: no such file or directory"),
        (["empty.scenario"], "empty.scenario: nothing to simulate: there is no node"),
        (["idle.scenario"], "idle.scenario: nothing to simulate: there is no gang and no pod"),
        (
            ["pods.txt"],
            (
                "pods.txt: found Kubernetes manifests; they are simulated from a .yaml or .json file, "
                "or from a directory of them"
            ),
        ),
        (["broken.yaml"], "broken.yaml:1: did not find expected ',' or ']' (while parsing a flow sequence)"),
        (["bytes.scenario"], "bytes.scenario: not UTF-8 text, allowed is a scenario (see docs/scenario.md)"),
        (
            ["wrong.scenario"],
            (
                "wrong.scenario:2: found 'nod', allowed are node, queue, budget, gang, pod, network, fail, relabel, "
                "scale; did you mean node?"
            ),
        ),
        (
            ["idle.scenario", "--until", "soon"],
            "simulate: --until: found 'soon', allowed is a duration such as 90s, 5m, 1h30m or 2d",
        ),
    ],
)
def test_a_mistake_is_one_clear_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: list[str], line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {"empty": b"", "idle": b"node n1 cpu=1", "bytes": b"\xff\xfe", "wrong": b"# a comment\nnod n1"}
    for name, content in files.items():
        Path(f"{name}.scenario").write_bytes(content)
    Path("pods.txt").write_text("# mine\n---\napiVersion: v1\nkind: Pod\n")
    Path("broken.yaml").write_text("kind: [Pod")
    assert main(["simulate", *arguments]) == 2
    assert capsys.readouterr() == ("", f"phalanx: {line}\n")


def test_a_policy_that_is_none_is_told_by_its_own_words(capsys: pytest.CaptureFixture[str], scenario: str) -> None:
    assert main(["simulate", scenario, "--policy", "defalt"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "default" in printed.err


def interrupting(monkeypatch: pytest.MonkeyPatch, *, times: int) -> None:
    """Let Ctrl-C be pressed after the first instant."""
    run = Simulator.run

    def pressed(simulator: Simulator, until: float = FOREVER) -> Iterator[Moment]:
        for moment in run(simulator, until):
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
            yield moment

    monkeypatch.setattr(Simulator, "run", pressed)


def test_ctrl_c_prints_the_report_so_far_and_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, scenario: str
) -> None:
    interrupting(monkeypatch, times=1)
    before = signal.getsignal(signal.SIGINT)
    assert main(["simulate", scenario]) == 130
    printed = capsys.readouterr()
    assert "\n1m of virtual time in 1 cycle, interrupted: this is the report so far\n" in printed.out
    assert printed.err == (
        "phalanx: simulate: interrupted at 1m of virtual time; the report is of what ran until then\n"
    )
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_ctrl_c_ends_everything_at_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, scenario: str
) -> None:
    interrupting(monkeypatch, times=2)
    assert main(["simulate", scenario]) == 130
    assert capsys.readouterr().out == ""


def test_a_long_run_shows_a_bar_on_a_terminal_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, scenario: str
) -> None:
    monkeypatch.setattr(simulating, "_BAR_AFTER_SECONDS", -1.0)
    main(["simulate", scenario])
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    main(["simulate", scenario])
    assert "simulating, at " in capsys.readouterr().err


ROOT = Path(__file__).parents[2]
#: Those of two teams last for days: tests/sim/test_two_teams.py runs them.
SCENARIOS = sorted(
    path for path in (ROOT / "examples" / "scenarios").glob("*.scenario") if not path.name.startswith("two-teams")
)


@pytest.mark.parametrize("policy", ["default", "pod-by-pod"])
@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_example_runs_to_its_end(capsys: pytest.CaptureFixture[str], path: Path, policy: str) -> None:
    assert main(["simulate", str(path), "--policy", policy, "-o", "json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert json.loads(printed.out)["never_started"] == []


def test_the_page_about_scenarios_has_every_word_and_its_examples_are_right() -> None:
    page = (ROOT / "docs" / "scenario.md").read_text()
    known = {word.rstrip(":") for kind in words.VALUES for word in words.allowed(kind)} - {"VENDOR/RESOURCE"}
    assert {word for word in known if f"`{word}" not in page and f"{word}=" not in page} == set()
    blocks = re.findall(r"```scenario\n(.*?)```", page, flags=re.DOTALL)
    assert [len(timeline(read_scenario(block)).nodes) for block in blocks] == [2, 2, 2, 1]


def test_on_a_busy_day_gangs_wait_less_and_more_gpus_work_than_pod_by_pod(capsys: pytest.CaptureFixture[str]) -> None:
    found = {}
    for policy in ("default", "pod-by-pod"):
        path = ROOT / "examples" / "scenarios" / "busy-cluster.scenario"
        main(["simulate", str(path), "--policy", policy, "-o", "json"])
        found[policy] = json.loads(capsys.readouterr().out)
    ours, theirs = found["default"], found["pod-by-pod"]
    assert ours["waiting"]["mean"] < theirs["waiting"]["mean"]
    assert ours["makespan"] < theirs["makespan"]
    assert ours["device"]["working"] > theirs["device"]["working"]


QUEUES = "node n1 gpu=2\nqueue a weight:gpu=1\nqueue b weight:gpu=1\npod a1..a3 gpu=1 queue=a runtime=1h\n"
REMEMBERING = "extends: default\nshare: {name: quota_then_weight, arguments: {memory: {window: 24h}}}\n"


def test_the_report_can_be_a_page_and_the_past_can_be_kept_for_the_next_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.scenario").write_text(QUEUES)
    Path("p.yaml").write_text(REMEMBERING)
    command = ["simulate", "q.scenario", "--policy", "p.yaml", "--memory", "m.json", "--html", "r.html"]
    kept = []
    for _ in range(2):
        assert main(command) == 0
        kept.append(json.loads(Path("m.json").read_text()))
    assert capsys.readouterr().err == ""
    assert Path("r.html").read_text().startswith("<!DOCTYPE html>")
    used = [sum(one["queues"]["a"]["used"]["nvidia.com/gpu"]) for one in kept]
    assert used[0] == pytest.approx(3 * 3600 * 1000)
    # A window of a day in which the second run is the later half of four hours.
    assert used[1] == pytest.approx(2 * used[0])


@pytest.mark.parametrize(
    ("policy", "options", "line"),
    [
        (
            "default",
            ["--memory", "m.json"],
            "--memory: the policy remembers nothing, allowed is a file only with share.arguments.memory in the policy",
        ),
        (
            "p.yaml",
            ["--memory", "bad.json"],
            "--memory: bad.json: not JSON, allowed is a file that an earlier run has written",
        ),
        ("p.yaml", ["--memory", "list.json"], "--memory: list.json: usage: found list, allowed is what was exported"),
        ("p.yaml", ["--memory", "huge.json"], "--memory: huge.json: usage.at: found no time in seconds"),
        ("p.yaml", ["--memory", "."], "--memory: found '.', which is a directory, allowed is a file"),
        (
            "p.yaml",
            ["--html", "no/r.html"],
            "--html: found 'no/r.html', in a directory that does not exist, allowed is a file",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_one_clear_line(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    policy: str,
    options: list[str],
    line: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.scenario").write_text(QUEUES)
    Path("p.yaml").write_text(REMEMBERING)
    Path("bad.json").write_text("{")
    Path("list.json").write_text("[]")
    Path("huge.json").write_text('{"at": 1' + "0" * 400 + ', "window": 86400}')
    assert main(["simulate", "q.scenario", "--policy", policy, *options]) == 2
    assert capsys.readouterr() == ("", f"phalanx: simulate: {line}\n")


def test_a_trace_runs_like_a_scenario(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    trace = tmp_path / "history.csv"
    trace.write_text("arrival,runtime,members,gpus,queue\n60,3600,2,4,a\n0,3600,,0.5,b\n")
    assert main(["simulate", "--trace", str(trace), "--nodes", "1x8", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["scenario"], found["gangs"], found["started"], found["finished"]) == (str(trace), 2, 2, 2)
    assert [queue["queue"] for queue in found["queues"]] == ["a", "b"]
    # One GPU is shared until 3600: 7 are left for a gang that needs 8.
    assert found["waiting"]["mean"] == (3600 - 60) / 2


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--trace", "no.csv"], "--nodes: missing, allowed is COUNTxGPUS"),
        (["--trace", "no.csv", "--nodes", "2x8"], "no.csv: no such file or directory"),
        (["--trace", "no.csv", "--nodes", "many"], "no.csv: no such file or directory"),
        (["--trace", "openb", "--data", "nowhere"], "--trace openb: found no file openb/openb_pod_list_default.csv in"),
        (["--nodes", "2x8", "a.scenario"], "simulate: --nodes: found without --trace, allowed is beside it"),
        (["a.scenario", "--trace", "b.csv"], "simulate: --trace: found beside the scenario 'a.scenario'"),
        ([], "simulate: found neither a scenario nor --trace"),
        (["--trace", "b.csv", "--sample", "2"], "simulate: --sample: found 2, allowed is above 0 and at most 1"),
        (["--trace", "b.csv", "--load", "0"], "simulate: --load: found 0, allowed is above 0 and at most 100"),
        (["--trace", "b.csv", "--window", "3d"], "simulate: --window: found '3d', allowed is two rising durations"),
    ],
)
def test_what_is_wrong_with_the_options_of_a_trace_is_one_line(
    capsys: pytest.CaptureFixture[str], options: list[str], line: str
) -> None:
    assert main(["simulate", *options]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert line in printed.err
    assert printed.err.count("\n") == 1


def test_the_report_tells_what_each_user_of_a_queue_had(capsys: pytest.CaptureFixture[str]) -> None:
    """Of two who both ask for more than there is, bob counts double: from the third hour on he has two thirds."""
    users = ROOT / "examples" / "scenarios" / "users"
    words = ["simulate", f"{users}.scenario", "--policy", f"{users}.yaml", "--until", "8h", "--interval", "1m"]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "GPUs by user, on average over the time" in text
    assert main([*words, "-o", "json"]) == 0
    found = {one["user"]: one for one in json.loads(capsys.readouterr().out)["users"]}
    assert {name: (one["queue"], one["gangs"]) for name, one in found.items()} == {
        "alice": ("default", 144), "bob": ("default", 96),
    }  # fmt: skip
    # Alice had everything for the first two hours.
    assert found["bob"]["device"] > found["alice"]["device"]
    assert f"bob            {found['bob']['device']:.1f} held" in text

"""Bad input: a message per bad object, the right plan for the good ones, and never a traceback.

Each file of the corpus says in comments what must come of it: `#= refused OBJECT FIELD`, `#= wait GANG MISSING CODE`,
`#= bind POD NODE`, `#= problem FILE[:LINE]`, `#= note OBJECT`, `#= ignored COUNT KIND`.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from phalanx.cli.main import main

CORPUS = Path(__file__).parents[1] / "corpus"
GOOD = CORPUS / "good.yaml"
NOW = "2026-11-01T12:00:00Z"


def expected(word: str) -> list[str]:
    lines = [line for file in CORPUS.glob("*.yaml") for line in file.read_text().splitlines()]
    return sorted(line.removeprefix(f"#= {word} ") for line in lines if line.startswith(f"#= {word} "))


def plan(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, Any, list[str]]:
    """Return the exit status, what was printed, and the lines on standard error."""
    status = main(["plan", "--now", NOW, "-o", "json", *map(str, arguments)])
    printed = capsys.readouterr()
    return status, json.loads(printed.out) if printed.out else None, printed.err.splitlines()


def steps(found: Any, word: str, form: str) -> list[str]:
    return sorted(form.format(**step) for step in found["cycles"][0]["steps"] if step["step"] == word)


def test_every_bad_object_is_named_once_and_every_good_one_gets_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    status, found, lines = plan(capsys, "-f", CORPUS)
    assert status == 0
    assert sorted(f"{one['object']} {one['field']}" for one in found["refused"]) == expected("refused")
    assert steps(found, "bind", "{pod} {node}") == expected("bind")
    assert steps(found, "wait", "{gang} {missing} {code}") == expected("wait")
    told = [line.removeprefix(f"phalanx: {CORPUS}/") for line in lines]
    said = [f"phalanx: {one['object']}: {one['field']}: {one['message']} ({one['source']})" for one in found["refused"]]
    problems = ["file-empty.yaml", *expected("problem")]
    begins = [f"{file}: " for file in problems] + [
        f"phalanx: {note}: " for note in (*expected("note"), *expected("remark"))
    ]
    assert [line for line in lines if line in said] == said
    assert len(told) == len(said) + len(begins) + 1
    assert all(sum(line.startswith(begin) for line in told) == 1 for begin in begins)
    assert told[-1] == f"phalanx: ignored objects of kinds that are not read: {expected('ignored')[0]}"


def test_strict_names_the_same_objects_and_plans_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    _, _, lines = plan(capsys, "-f", CORPUS)
    status, found, strict = plan(capsys, "-f", CORPUS, "--strict")
    assert (status, found) == (2, None)
    # What a node says twice makes no object bad.
    harmless = ("phalanx: ignored", *(f"phalanx: {one}" for one in expected("remark")))
    assert sorted(strict) == sorted(line for line in lines if not line.startswith(harmless))


def test_the_text_is_one_line_each_and_nothing_in_it_can_steer_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "-f", str(CORPUS), "--now", NOW]) == 0
    text = capsys.readouterr().out
    assert all(line.isprintable() for line in text.splitlines())
    assert len([line for line in text.splitlines() if line.startswith("refused ")]) == len(expected("refused"))


def test_a_pod_from_the_far_future_does_not_break_the_calendar(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "-f", str(CORPUS), "-o", "json", "--cycles", "3"]) == 0
    cycles = json.loads(capsys.readouterr().out)["cycles"]
    assert [cycle["now"] for cycle in cycles] == ["9999-12-31T23:59:59Z"] * 3


POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: big}\nspec:\n  schedulerName: phalanx\n"
CPU = "  containers: [{name: main, resources: {requests: {cpu: 1}}}]\n"
TERM = "{matchExpressions: [{key: a, operator: In, values: [b]}]}"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize(
    "text",
    [
        POD.replace("big}", "big, annotations: {a: " + "x" * 2**20 + "}}") + CPU,
        POD + "  containers:\n  - name: main\n    env:\n" + "    - {name: A, value: b}\n" * 10_000,
        POD + "  tolerations:\n" + "  - {key: a, operator: Exists}\n" * 5_000 + CPU,
        POD + "  containers:\n" + "  - {name: main, resources: {requests: {cpu: 1m}}}\n" * 1_000,
        POD.replace("big}", "big, labels: {" + ", ".join(f"l{n}: v" for n in range(10_000)) + "}}") + CPU,
    ],
    ids=["1 MiB annotation", "10,000 variables", "5,000 tolerations", "1,000 containers", "10,000 labels"],
)
def test_a_huge_pod_is_placed_like_any_other(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str) -> None:
    (tmp_path / "big.yaml").write_text(text)
    status, found, lines = plan(capsys, "-f", GOOD, tmp_path)
    assert (status, lines, found["refused"]) == (0, [], [])
    assert [pod["node"] for pod in found["pods"] if pod["pod"] == "default/big"] == ["good-1"]


def test_a_thousand_affinity_terms_are_all_looked_at(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    terms = ", ".join([TERM] * 1_000)
    wish = f"  affinity: {{nodeAffinity: {{{REQUIRED}: {{nodeSelectorTerms: [{terms}]}}}}}}\n"
    (tmp_path / "big.yaml").write_text(POD + wish + CPU)
    status, found, _ = plan(capsys, "-f", GOOD, tmp_path)
    assert status == 0
    assert steps(found, "wait", "{gang} {code}") == ["default/big never"]


GARBAGE = bytes(range(256)) * 40


@pytest.mark.parametrize(
    ("name", "data", "line"),
    [
        ("x.yaml", b"", "x.yaml: the file is empty"),
        ("x.yaml", b"kind: [Pod", "x.yaml:1: did not find expected ',' or ']' (while parsing a flow sequence)"),
        ("x.yaml", GARBAGE, "x.yaml:1: not text: control characters are not allowed"),
        ("x.json", GARBAGE, "x.json:1: not JSON: invalid character"),
        ("x.json", b'{"kind": "Pod", }', "x.json:1: not JSON: trailing comma in object"),
        ("x.yaml", b"[" * 100_000, "x.yaml:1: nested more than 200 levels deep"),
        ("x.yaml", b"{{ .Values.pod }}",
         "x.yaml:1: a key must be text; a template? render it first: helm template CHART | phalanx plan -f -"),
    ],
    ids=["empty", "malformed YAML", "binary YAML", "binary JSON", "malformed JSON", "deep", "a Helm template"],
)  # fmt: skip
def test_a_file_that_is_no_manifest_is_one_line_and_the_others_proceed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, data: bytes, line: str
) -> None:
    (tmp_path / name).write_bytes(data)
    told = f"phalanx: {tmp_path}/{line}"
    status, found, lines = plan(capsys, "-f", tmp_path, GOOD)
    assert (status, lines, len(found["cycles"][0]["steps"])) == (0, [told], 5)
    assert plan(capsys, "-f", tmp_path, GOOD, "--strict") == (2, None, [told])
    assert plan(capsys, "-f", tmp_path) == (2, None, [told])


@pytest.mark.parametrize("form", ["{cpu: %s}", "{cpu: '%s'}", "{cpu: -%s}", "{cpu: %sm}", "{nvidia.com/gpu: %s}"])
def test_a_quantity_of_a_million_digits_is_one_clear_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, form: str
) -> None:
    requests = form % ("9" * 1_000_000)
    (tmp_path / "x.yaml").write_text(f"{POD}  containers: [{{name: main, resources: {{requests: {requests}}}}}]\n")
    status, found, (line,) = plan(capsys, "-f", GOOD, tmp_path)
    assert (status, len(found["refused"])) == (0, 1)
    assert line.startswith("phalanx: Pod default/big: spec.containers[0].resources.requests")
    assert len(line) < 400

"""Small clusters from real life on which a promise once went wrong, as files, through the command itself."""

import json
from pathlib import Path
from typing import Any

import pytest

from phalanx.cli.main import main

CASES = Path(__file__).parents[3] / "shared" / "cases" / "promises"

#: Per file, what each of four cycles does.
EXPECTED = {
    "nominated-then-tainted": [
        ["release high n1", "evict low n2 for high", "nominate high n2"],
        ["bind high n2"],
        [],
        [],
    ],
    "own-promise-counts-against-it": [
        ["evict v1 n2 for g", "nominate g-0 n1", "nominate g-1 n2"],
        ["bind g-0 n1", "bind g-1 n2"],
        [],
        [],
    ],
    "scaled-up-gang-evicted": [["wait g 2 full"]] * 4,
    "stale-nomination-of-another-scheduler": [["bind high n1"], [], [], []],
    "victims-anti-affinity": [["evict low n1 for high", "nominate high n1"], ["bind high n1"], [], []],
}
FORMS = {
    "bind": "bind {pod} {node}",
    "nominate": "nominate {pod} {node}",
    "release": "release {pod} {node}",
    "evict": "evict {pod} {node} for {for}",
    "wait": "wait {gang} {missing} {code}",
}


@pytest.mark.parametrize(("name", "expected"), EXPECTED.items(), ids=EXPECTED)
def test_promises_are_kept_given_up_and_taken_over(
    name: str, expected: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    file = CASES / f"{name}.yaml"
    if not file.is_file():
        pytest.skip(f"{file.name} is not there: shared/cases/promises stands beside the checkout where it exists")
    assert main(["plan", "-f", str(file), "--cycles", "4", "-o", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    told = [
        [FORMS[step["step"]].format(**step).replace("default/", "") for step in cycle["steps"]]
        for cycle in found["cycles"]
    ]
    assert told == expected
    assert found["refused"] == []


@pytest.mark.parametrize("name", EXPECTED)
def test_the_text_of_a_plan_has_every_step(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = CASES / f"{name}.yaml"
    if not file.is_file():
        pytest.skip(f"{file.name} is not there: shared/cases/promises stands beside the checkout where it exists")
    assert main(["plan", "-f", str(file), "--cycles", "1"]) == 0
    printed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    words = [line.split()[0] for line in EXPECTED[name][0]]
    assert printed == list(dict.fromkeys(words)) or printed == words

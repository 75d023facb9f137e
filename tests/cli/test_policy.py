"""`phalanx policy show` and `phalanx policy check`, as a person types them."""

from pathlib import Path

import pytest

from phalanx.cli.main import main
from phalanx.policy.load import load_policy, parse_policy, preset_text

#: In the order of the preset, which its own tests have by name.
BUILT_IN = ", ".join(weighted.plugin.name for weighted in load_policy("default").plugins)

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, text: str) -> str:
    Path(name).write_text(text)
    return name


def test_show_prints_a_preset_as_the_file_that_it_is(capsys: Captured) -> None:
    assert main(["policy", "show", "pod-by-pod"]) == 0
    assert capsys.readouterr().out == preset_text("pod-by-pod")
    assert main(["policy", "show"]) == 0
    assert capsys.readouterr().out == preset_text("default")


def test_show_prints_a_file_with_all_that_it_extends(capsys: Captured) -> None:
    file = write("mine.yaml", "{extends: kai, search: {steps: 5}}")
    assert main(["policy", "show", file]) == 0
    shown = capsys.readouterr().out
    assert "extends" not in shown
    assert parse_policy(shown, file) == load_policy(file)


def test_show_lists_everything_that_a_policy_can_name(capsys: Captured) -> None:
    assert main(["policy", "show", "--list"]) == 0
    out = capsys.readouterr().out
    titles = [line for line in out.splitlines() if not line.startswith(" ")]
    assert titles == ["presets", "plugins, built in", "plugins, by entry point", "actions"]
    assert "  gang                 Make gangs, and the minimums of their subgroups, the units of decision.\n" in out


def test_check_says_ok_and_where_the_plugins_come_from(capsys: Captured) -> None:
    file = write("mine.yaml", "extends: default")
    assert main(["policy", "check", file]) == 0
    assert capsys.readouterr().out == f"mine.yaml: ok\n  built in: {BUILT_IN}\n"


def test_check_warns_of_what_would_not_be_honoured_and_is_still_content(capsys: Captured) -> None:
    assert main(["policy", "check", "pod-by-pod"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "  warning: without gang, every pod is decided alone and gangs are split"


def test_check_reports_the_mistakes_of_every_file_and_ends_with_2(capsys: Captured) -> None:
    files = [
        write("good.yaml", "extends: default"),
        write("bad.yaml", "extends: default\nplugins:\n- {name: gangs}\n- {name: gang, xyz: 1}\n"),
        write("worse.yaml", "extends: [default"),
        "gone.yaml",
    ]
    assert main(["policy", "check", *files]) == 2
    said = capsys.readouterr()
    assert said.out.startswith("good.yaml: ok\n")
    lines = said.err.splitlines()
    assert lines[0].startswith("phalanx: bad.yaml:3: plugins[0].name: 'gangs': unknown plugin, did you mean gang?")
    assert lines[1:] == [
        "phalanx: bad.yaml:4: plugins[1].xyz: unknown key (allowed: name, weight, arguments)",
        "phalanx: worse.yaml:1: not YAML: did not find expected ',' or ']' (while parsing a flow sequence)",
        "phalanx: gone.yaml: no such file or preset (presets: default, kai, pod-by-pod, volcano)",
    ]


@pytest.mark.parametrize("command", [["show", "gone.yaml"], ["check"], ["check", "."]])
def test_a_mistake_on_the_command_line_is_one_line_and_2(command: list[str], capsys: Captured) -> None:
    assert main(["policy", *command]) == 2
    said = capsys.readouterr()
    assert (said.out, len(said.err.splitlines())) == ("", 1)

"""Completion: what can stand next, in bash, zsh, fish and kubectl."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from phalanx.cli.commands import COMMANDS
from phalanx.cli.completing import candidates, kubectl
from phalanx.cli.main import main
from tests.cli.test_help_is_light import DRAWING, HEAVY, loaded_by, packages

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["ga"], [f"gangs\t{COMMANDS['gangs']}"]),
        (["--v"], ["--version\tPrint the version."]),
        (["gangs", "--out"], ["--output"]),
        (["gangs", "-o", ""], ["text", "wide", "json", "yaml"]),
        (["gangs", "-o", "w"], ["wide"]),
        (["gangs", "--output=j"], ["--output=json"]),
        (["gangs", "--output", "=", "j"], ["json"]),
        (["gangs", "--output", "="], ["text", "wide", "json", "yaml"]),
        (["run", "--no-l"], ["--no-leader-election"]),
        (["policy", ""], ["show", "check", "import"]),
        (["policy", "show", "--"], ["--list", "--help"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        # Nothing of ours: the shell offers files.
        (["plan", "-f", ""], []),
        (["plan", "-f", "a.yaml", ""], []),
        (["nonsense", ""], []),
    ],
    ids=" ".join,
)
def test_what_can_stand_next(words: list[str], found: list[str]) -> None:
    assert candidates(words) == found


def test_no_word_at_all_is_every_command(capsys: Captured) -> None:
    assert main(["__complete"]) == 0
    assert [line.partition("\t")[0] for line in capsys.readouterr().out.splitlines()] == [
        *COMMANDS, "--help", "--version",
    ]  # fmt: skip


def test_every_command_completes_its_options() -> None:
    for command in COMMANDS:
        assert "--help" in candidates([command, "--"]), command


def test_at_tab_nothing_heavy_is_loaded() -> None:
    assert not packages(loaded_by("__complete", "")) & (HEAVY | DRAWING)
    assert not packages(loaded_by("__complete", "plan", "--")) & HEAVY


def test_kubectl_is_told_whether_files_are_meant(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    for words, told in ((["gangs", "--out"], "--output\n:4\n"), (["plan", "-f", ""], ":0\n")):
        monkeypatch.setattr(sys, "argv", ["kubectl_complete-phalanx", *words])
        assert kubectl() == 0
        assert capsys.readouterr().out == told


SHELLS = {
    "bash": r"""
        source <(phalanx completion bash)
        complete -p phalanx
        ask() { COMP_WORDS=(phalanx "$@"); COMP_CWORD=$#; _phalanx; printf '%s\n' "$*:" "${COMPREPLY[@]}"; }
        ask gangs -o w
        ask ga
    """,
    "zsh": r"""
        autoload -U compinit; compinit -u -D
        source <(phalanx completion zsh)
        print -r -- "$_comps[phalanx]"
        _describe() { shift; print -rl -- "${(@P)1}"; }
        _files() { print files; }
        ask() { words=(phalanx "$@"); CURRENT=$#words; print -r -- "$*:"; _phalanx; }
        ask gangs -o w
        ask ga
        ask plan -f ''
    """,
    "fish": r"""
        phalanx completion fish | source
        for line in 'gangs -o w' 'ga' 'plan -f fi'
            echo "$line:"
            complete -C "phalanx $line"
        end
    """,
}
TEXT = COMMANDS["gangs"]
TOLD = {
    "bash": ["complete -o default -F _phalanx phalanx", "gangs -o w:", "wide", "ga:", "gangs"],
    "zsh": [
        "_phalanx",
        "gangs -o w:",
        "wide",
        "ga:",
        f"gangs:{TEXT.replace(':', chr(92) + ':')}",
        "plan -f :",
        "files",
    ],
    "fish": ["gangs -o w:", "wide", "ga:", f"gangs\t{TEXT}", "plan -f fi:", "file.yaml"],
}


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_itself_completes(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "file.yaml").touch()
    bin_folder = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)}
    options = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    script = "\n".join(line.strip() for line in SHELLS[shell].splitlines())
    done = subprocess.run(
        [shell, *options, "-c", script], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout.splitlines(), done.stderr) == (TOLD[shell], "")

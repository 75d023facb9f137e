"""Help and version are there at once: what they may load is held here, since how long they take is not ours to say."""

import json
import os
import subprocess
import sys

import pytest

from phalanx.cli.commands import COMMANDS, page, unfolded
from phalanx.cli.main import app, main

#: Each takes as long to load as all that help needs, and more.
HEAVY = {"numpy", "msgspec", "yaml", "aiohttp", "uvloop", "asyncio", "prometheus_client", "cryptography", "ssl"}
#: What draws the page of one command.
DRAWING = {"cyclopts", "rich"}
_CODE = """
import json, sys
from phalanx.cli.main import main
status = main(sys.argv[1:])
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
raise SystemExit(status)
"""


def loaded_by(*arguments: str) -> set[str]:
    """Return the modules that a command loads in a process of its own."""
    # What a person's terminal sets must not decide what the drawing loads.
    plain = {key: value for key, value in os.environ.items() if not key.startswith(("FORCE_COLOR", "PYTHONSTARTUP"))}
    done = subprocess.run(
        [sys.executable, "-c", _CODE, *arguments], env=plain, capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stderr))


def packages(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["--version"]], ids=" ".join)
def test_the_first_page_and_the_version_load_nothing_but_themselves(arguments: list[str]) -> None:
    loaded = loaded_by(*arguments)
    assert not packages(loaded) & (HEAVY | DRAWING)
    assert {name for name in loaded if name.startswith("phalanx")} == {
        "phalanx", "phalanx.cli", "phalanx.cli.commands", "phalanx.cli.main", "phalanx.cli.output",
    }  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_of_a_command_loads_neither_arrays_nor_the_network_nor_the_engine(command: str) -> None:
    loaded = loaded_by(command, "--help")
    assert not packages(loaded) & HEAVY
    assert {name for name in loaded if name.startswith("phalanx")} <= {
        "phalanx", "phalanx.cli", "phalanx.cli.commands", "phalanx.cli.main", "phalanx.cli.output",
        f"phalanx.cli.{command}",
    }  # fmt: skip
    # Markdown would take as long as all the rest of the page.
    assert "rich.markdown" not in loaded


def test_the_first_page_names_every_command_as_it_names_itself() -> None:
    whole = app()
    assert {name: (whole[name].help or "").partition("\n")[0] for name in COMMANDS} == COMMANDS
    assert [name for name in whole if not name.startswith("-")] == list(COMMANDS)


def test_the_first_page_fits_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert out == page()
    assert max(map(len, out.splitlines())) <= 80
    assert [line.split()[0] for line in out.splitlines() if line[:2] == "  " and line[2:3].strip()][:-2] == list(
        COMMANDS
    )


def test_a_paragraph_is_folded_by_the_terminal_and_by_nobody_else() -> None:
    text = """Say it.

    One paragraph that goes
    on and ends.

    Parameters
    ----------
    one
        What it is, at
        length.
    two
        A word.
    """
    assert (
        unfolded(text)
        == """Say it.

    One paragraph that goes on and ends.

    Parameters
    ----------
    one
        What it is, at length.
    two
        A word.
    """
    )


def test_a_page_breaks_its_lines_where_the_terminal_ends(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--help"]) == 0
    assert "them, in any mix of YAML and JSON. Jobs, Deployments, ReplicaSets, StatefulSets" in capsys.readouterr().out

"""`phalanx playground` as a person uses it: the printed commands work, and Ctrl-C leaves nothing behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from phalanx.testing.running import eventually

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("fresh_control_plane")]

SMALL = ("--nodes=2", "--gpus=4", "--model=A100", "--racks=2")


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment in which whatever is left behind can be seen."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    return os.environ | {"TMPDIR": str(temporary)}


def playground(home: dict[str, str], *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "phalanx", "playground", *SMALL, *options]
    return subprocess.Popen(command, env=home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)


def shell(home: dict[str, str], *lines: str) -> str:
    done = subprocess.run(["/bin/sh", "-ec", "\n".join(lines)], env=home, capture_output=True, text=True, check=True)
    return done.stdout


def printed(running: subprocess.Popen[str]) -> Iterator[str]:
    assert running.stdout
    for line in running.stdout:
        yield line.strip()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_printed_commands_work_and_nothing_is_left_when_it_ends(home: dict[str, str], number: int) -> None:
    with playground(home) as running:
        try:
            lines = printed(running)
            export = next(line for line in lines if line.startswith("export KUBECONFIG="))
            apply, get, describe = (next(lines) for _ in range(3))
            made = [f"pod/{name} created\n" for name in ("finetune-0", "pretrain-0", "pretrain-1")]
            assert shell(home, export, apply) == "".join(made)
            eventually("finetune runs", lambda: shell(home, export, get).count(" Running ") == 1)
            assert shell(home, export, get).count(" Pending ") == 2
            eventually("pretrain says why", lambda: "2 needed together, 1 fit" in shell(home, export, describe))
            assert "decided gang=default/finetune pods=1" in "\n".join(decided(lines))
        finally:
            running.send_signal(number)
    assert running.returncode == 0
    assert list(Path(home["TMPDIR"]).iterdir()) == []


def decided(lines: Iterator[str]) -> Iterator[str]:
    """Return the log up to the first decision."""
    for line in lines:
        yield line
        if " decided " in line:
            return


def test_it_ends_by_itself_when_told_for_how_long(home: dict[str, str]) -> None:
    with playground(home, "--for=1s") as running:
        text = "\n".join(printed(running))
    assert running.returncode == 0
    assert "2 nodes with 4 A100 GPUs each, in 2 racks; Phalanx schedules by the policy default." in text
    assert " leading " in text
    assert list(Path(home["TMPDIR"]).iterdir()) == []

"""Processes under a keeper: each can be hurt as a test likes, and none is left when it is over."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from phalanx.kube.local.errors import LocalError
from phalanx.kube.local.processes import Processes


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    folder = tmp_path / "folder"
    folder.mkdir()
    running = Processes(folder, removed_at_end=True)
    yield running
    running.close()
    assert not folder.exists()


def test_a_process_that_ends_by_itself_is_named_with_its_last_words(processes: Processes) -> None:
    processes.start("steady", ["sleep", "600"])
    processes.start("broken", ["sh", "-c", "echo no such flag; exit 3"])
    with pytest.raises(LocalError, match=r"^broken ended by itself with status 3; its last words:\nno such flag$"):
        checked_until_it_raises(processes)


def test_a_program_that_is_not_there_is_named(processes: Processes) -> None:
    with pytest.raises(LocalError, match="No such file or directory: 'no-such-program'"):
        processes.start("absent", ["no-such-program"])
    processes.check()


def test_a_killed_process_starts_again_as_before_and_keeps_its_log(processes: Processes) -> None:
    processes.start("talker", ["sh", "-c", "echo started; exec sleep 600"])
    said(processes, "talker", "started\n")

    processes.pause("talker")
    processes.kill("talker")
    assert processes.pids == {}
    processes.restart("talker")
    said(processes, "talker", "started\nstarted\n")
    processes.restart("talker")

    said(processes, "talker", "started\nstarted\nstarted\n")
    processes.check()


def test_asking_for_a_process_that_another_thread_has_just_killed_harms_nobody(processes: Processes) -> None:
    processes.start("steady", ["sleep", "600"])
    processes.start("gone", ["sleep", "600"])
    pid = processes.pids["gone"]
    processes.kill("gone")

    assert processes._order({"ask": pid}) == {"status": None}
    assert processes._order({"end": pid}) == {"status": None}
    processes.check()


def test_a_killed_keeper_is_an_error_in_words(processes: Processes) -> None:
    processes.start("steady", ["sleep", "600"])
    os.kill(processes._keeper.pid, signal.SIGTERM)
    processes._keeper.wait()
    with pytest.raises(LocalError, match="the keeper of this control plane was killed, and its processes with it"):
        processes.check()


def said(processes: Processes, name: str, words: str) -> None:
    while processes.log(name) != words:
        time.sleep(0.02)


def checked_until_it_raises(processes: Processes) -> None:
    while True:
        processes.check()

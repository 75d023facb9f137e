"""The programs of a control plane: found where people have them, built once where they are nowhere."""

import io
import os
import re
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from phalanx.kube.local.binaries import binaries, find
from phalanx.kube.local.build import build
from phalanx.kube.local.control_plane import _reserved_port
from phalanx.kube.local.errors import LocalError, MissingError
from phalanx.kube.local.progress import Progress
from phalanx.kube.local.versions import COMMANDS, VERSIONS, module_of, wanted


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine where nothing is installed but what a test puts under `assets`, `path` and `cache`."""
    monkeypatch.delenv("K8S", raising=False)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "assets"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_every_program_of_every_version_is_pinned() -> None:
    pins = {version: {module_of(command, version).label for command in COMMANDS} for version in VERSIONS}
    assert pins == {
        "1.35": {"kubernetes-1.35.4", "etcd-3.6.5", "kwok-0.8.0"},
        "1.36": {"kubernetes-1.36.4", "etcd-3.6.5", "kwok-0.8.0"},
        "1.37": {"kubernetes-1.37.1", "etcd-3.6.5", "kwok-0.8.0"},
    }


def test_the_version_is_the_argument_else_the_environments_else_1_36(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("K8S", raising=False)
    assert wanted() == "1.36"
    monkeypatch.setenv("K8S", "1.35")
    assert (wanted(), wanted("1.37")) == ("1.35", "1.37")
    monkeypatch.setenv("K8S", "1.34")
    with pytest.raises(LocalError, match=r"^K8S is '1.34', allowed are 1.35, 1.36, 1.37$"):
        wanted()


def test_a_program_is_found_in_the_assets_then_on_path_then_in_the_cache(elsewhere: Path) -> None:
    assert find("kube-apiserver", "1.36") is None
    built = program(elsewhere / "cache/phalanx/kubernetes-1.36.4/kube-apiserver", "true")
    assert find("kube-apiserver", "1.36") == built
    installed = program(elsewhere / "path/kube-apiserver", "echo Kubernetes v1.36.9")
    assert find("kube-apiserver", "1.36") == installed
    asset = program(elsewhere / "assets/kube-apiserver", "echo Kubernetes v1.36.2")
    assert find("kube-apiserver", "1.36") == asset


def test_a_program_of_another_minor_version_is_passed_over(elsewhere: Path) -> None:
    program(elsewhere / "assets/kube-apiserver", "echo Kubernetes v1.34.1")
    program(elsewhere / "path/etcd", "echo etcd Version: 3.4.23")
    program(elsewhere / "path/kubectl", "exit 1")
    assert [find(name, "1.36") for name in ("kube-apiserver", "etcd", "kubectl")] == [None, None, None]


@pytest.mark.usefixtures("elsewhere")
def test_without_go_and_programs_the_message_says_what_to_install() -> None:
    with pytest.raises(MissingError) as caught:
        binaries(["etcd", "kube-apiserver"], "1.36")
    assert str(caught.value) == (
        "kube-apiserver (version 1.36) not found: install Go 1.26.0 or newer to build it here, "
        "or point KUBEBUILDER_ASSETS at a folder that holds it"
    )


def test_two_who_need_the_same_program_at_once_build_it_once(
    elsewhere: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    packages = 'echo "go: downloading x" >&2; echo k8s.io/x >&2; echo k8s.io/y >&2'
    go(elsewhere, f'{packages}; until [ -e "{elsewhere}/go.on" ]; do sleep 0.05; done; echo built > "$6"')
    # Left by a build that was killed half way: it is not mistaken for the program.
    program(elsewhere / "cache/phalanx/etcd-3.6.5/unfinished/etcd", "half")

    with ThreadPoolExecutor(2) as pool:
        found = pool.map(binaries, [["etcd"]] * 2, ["1.36"] * 2)
        said = ""
        while "another process is building etcd-3.6.5: waiting for it" not in said:
            said += capfd.readouterr().err
        (elsewhere / "go.on").touch()

    etcd = elsewhere / "cache/phalanx/etcd-3.6.5/etcd"
    assert list(found) == [{"etcd": etcd}] * 2
    assert etcd.read_text() == "built\n"
    assert sorted(path.name for path in etcd.parent.iterdir()) == ["etcd", "lock"]
    calls = (elsewhere / "go.calls").read_text().splitlines()
    assert [call.split()[-1] for call in calls] == ["go.etcd.io/etcd/server/v3"]
    assert "building etcd 3.6.5: 2 packages, " in said + capfd.readouterr().err


def test_a_failed_build_quotes_go_and_leaves_nothing(elsewhere: Path) -> None:
    go(elsewhere, 'echo half > "$6"; echo "missing go.sum entry" >&2; exit 1')
    with pytest.raises(LocalError, match=r"^go could not build kwok 0.8.0:\nmissing go.sum entry$"):
        build(module_of("kwok", "1.36"), ["kwok"], elsewhere / "kwok")
    assert [path.name for path in (elsewhere / "kwok").iterdir()] == ["lock"]


def test_a_terminal_gets_one_line_that_changes_and_a_file_gets_lines() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file):
        with Progress("building x", "packages", stream) as progress:
            progress.done = 1200

    first, *_, last = re.sub(r"\d+ s", "N s", terminal.getvalue()).split("\r")[1:]
    assert (first, last) == ("building x…\x1b[K", "building x: 1,200 packages, N s: done\x1b[K\n")
    first, *_, last = re.sub(r"\d+ s", "N s", file.getvalue()).splitlines()
    assert (first, last) == ("building x…", "building x: 1,200 packages, N s: done")


def test_a_reserved_port_is_nobody_elses() -> None:
    holders = [_reserved_port() for _ in range(50)]
    ports = {holder.getsockname()[1] for holder in holders}
    with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
        stranger.bind(holders[0].getsockname())
    for holder in holders:
        holder.close()
    assert len(ports) == 50


@pytest.mark.slow
@pytest.mark.parametrize(("ci", "outcome"), [("", "1 passed, 1 skipped"), ("true", "1 passed, 1 error")])
def test_tests_without_a_control_plane_are_skipped_by_name_but_fail_in_ci(
    elsewhere: Path, ci: str, outcome: str
) -> None:
    fixtures = "control_plane, fresh_control_plane, pytest_collection_modifyitems"
    (elsewhere / "conftest.py").write_text(f"from phalanx.testing.control_plane import {fixtures}\n")
    (elsewhere / "test_two.py").write_text("def test_a(control_plane):\n    pass\n\ndef test_b():\n    pass\n")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-ra", "test_two.py"],
        cwd=elsewhere,
        env=os.environ | {"CI": ci},
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome in ran.stdout
    assert "kube-apiserver, kubectl, kube-controller-manager, kube-scheduler (version 1.36) not found" in ran.stdout


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def go(machine: Path, script: str) -> None:
    """A stand-in for Go that notes how it is called; `$6` is the file it is told to write."""
    path = "PATH=/usr/bin:/bin"
    program(machine / "path/go", f'{path}\necho "$@" >> "{machine}/go.calls"\n{script}')

"""`phalanx playground`: what cannot be started is said in one line, and the pretend cluster is the one asked for."""

from collections import Counter
from pathlib import Path

import pytest

from phalanx.cli.main import main
from phalanx.kube.playground import Size, example

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--nodes", "0"], "--nodes: found 0, allowed is a whole number from 1 to 1000"),
        (["--gpus", "65"], "--gpus: found 65, allowed is a whole number from 1 to 64"),
        (["--nodes", "4", "--racks", "5"], "--racks: found 5, allowed is a whole number from 1 to 4"),
        (["--model", "H 100"], "--model: found H 100, allowed is the value of a label, such as H100"),
        (["--k8s", "1.34"], "--k8s: found 1.34, allowed are 1.35, 1.36, 1.37"),
        (["--for", "soon"], "--for: found 'soon', allowed is a duration such as 10s, 5m or 1h30m"),
    ],
)
def test_a_choice_that_cannot_be_is_one_line(arguments: list[str], complaint: str, capsys: Captured) -> None:
    assert main(["playground", *arguments]) == 2
    assert capsys.readouterr() == ("", f"phalanx: {complaint}\n")


def test_a_policy_that_is_none_is_said_before_anything_starts(capsys: Captured) -> None:
    assert main(["playground", "--policy", "defalt"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "did you mean default" in printed.err


def test_without_go_and_without_programs_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    for name in ("PATH", "XDG_CACHE_HOME", "KUBEBUILDER_ASSETS"):
        monkeypatch.setenv(name, str(tmp_path))
    assert main(["playground", "--k8s", "1.36"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("phalanx: kube-apiserver, kubectl, kube-controller-manager, kube-scheduler (version 1.36)")
    assert line.endswith("to build it here, or point KUBEBUILDER_ASSETS at a folder that holds it")


def test_nodes_are_spread_evenly_over_the_racks_and_sort_by_their_names() -> None:
    nodes = Size(nodes=10, gpus=4, model="A100", racks=3).manifests()
    labels = [node["metadata"]["labels"] for node in nodes]
    assert [node["metadata"]["name"] for node in nodes] == [f"gpu-{number:02}" for number in range(1, 11)]
    racks = [label["topology.kubernetes.io/rack"] for label in labels]
    assert racks == ["rack-1"] * 4 + ["rack-2"] * 3 + ["rack-3"] * 3
    assert {label["nvidia.com/gpu.product"] for label in labels} == {"A100"}
    assert {node["status"]["allocatable"]["nvidia.com/gpu"] for node in nodes} == {"4"}


@pytest.mark.parametrize("nodes", [1, 2, 7, 8])
def test_the_two_gangs_of_the_example_fit_alone_and_never_together(nodes: int) -> None:
    members = Counter(pod["metadata"]["annotations"]["phalanx.dev/gang"] for pod in example(Size(nodes=nodes)))
    assert 1 <= members["finetune"] <= nodes
    assert members["pretrain"] == nodes

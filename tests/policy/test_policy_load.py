"""A policy comes from a preset or a file; what a file gives replaces what it extends."""

from pathlib import Path

import pytest

from phalanx.engine.actions.allocate import Allocate
from phalanx.engine.plugins.gang import Gang
from phalanx.engine.plugins.resource_fit import Point, ResourceFit, Weight
from phalanx.engine.policy import Policy, Weighted
from phalanx.engine.shares.quota_then_weight import QuotaThenWeight
from phalanx.policy.load import PolicyError, load_policy, parse_policy


def test_a_file_that_gives_everything_is_that_policy() -> None:
    text = """
    schedulerNames: [volcano, mine]
    actions: [{name: allocate, arguments: {}}]
    plugins:
      - name: resource_fit
        weight: 2.5
        arguments:
          strategy: RequestedToCapacityRatio
          resources: {example.com/dongle: {weight: 20}, cpu: {}}
          shape: [{utilization: 0, score: 0}, {utilization: 80, score: 10}]
      - {name: gang, arguments: }
    share: {name: quota_then_weight, arguments: {}}
    search: {steps: 500}
    """
    fit = ResourceFit(
        "RequestedToCapacityRatio", {"example.com/dongle": Weight(20), "cpu": Weight()}, [Point(0, 0), Point(80, 10)]
    )
    assert parse_policy(text, "my.yaml") == Policy(
        "my.yaml", (Allocate(),), (Weighted(fit, 2.5), Weighted(Gang(), 1)), ("volcano", "mine"), 500, QuotaThenWeight()
    )


def test_what_is_given_replaces_and_lists_do_not_merge() -> None:
    default = load_policy("default")
    assert parse_policy("{extends: default, plugins: [{name: gang}]}", "my.yaml") == Policy(
        "my.yaml", default.actions, (Weighted(Gang(), 1),), default.scheduler_names, default.search_steps, default.share
    )


def test_a_file_extends_another_relative_to_itself(tmp_path: Path) -> None:
    (tmp_path / "team").mkdir()
    (tmp_path / "base.yaml").write_text("{extends: default, search: {steps: 7}, schedulerNames: [base]}")
    (tmp_path / "team" / "mine.yaml").write_text("{extends: ../base.yaml, schedulerNames: [mine]}")
    path = str(tmp_path / "team" / "mine.yaml")
    default = load_policy("default")
    assert load_policy(path) == Policy(path, default.actions, default.plugins, ("mine",), 7, default.share)


def test_the_mistakes_of_a_file_and_of_what_it_extends_come_together(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("extends: default\nsearch: {steps: many}\n")
    (tmp_path / "mine.yaml").write_text("extends: base.yaml\nplugin: []\n")
    with pytest.raises(PolicyError) as raised:
        load_policy(str(tmp_path / "mine.yaml"))
    mine, base = str(raised.value).replace(f"{tmp_path}/", "").splitlines()
    assert mine.startswith("mine.yaml:2: plugin: unknown key, did you mean plugins?")
    assert base == "base.yaml:2: search.steps: found 'many', allowed is a whole number from 1 to 1000000000"


def test_files_that_extend_each_other_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("extends: b.yaml")
    (tmp_path / "b.yaml").write_text("extends: a.yaml")
    with pytest.raises(PolicyError) as raised:
        load_policy(str(tmp_path / "a.yaml"))
    said = str(raised.value).replace(f"{tmp_path}/", "")
    assert said == "b.yaml:1: extends: goes round in a circle: a.yaml -> b.yaml -> a.yaml"


def test_a_file_that_extends_nothing_must_say_what_it_does() -> None:
    with pytest.raises(PolicyError) as raised:
        parse_policy("schedulerNames: [mine]", "my.yaml")
    assert str(raised.value).splitlines() == [
        "my.yaml:1: actions: missing; list them, or start from a preset with `extends: default`",
        "my.yaml:1: plugins: missing; list them, or start from a preset with `extends: default`",
    ]


def test_a_name_that_is_neither_a_preset_nor_a_file_gets_the_nearest_preset() -> None:
    with pytest.raises(PolicyError) as raised:
        load_policy("pod_by_pod")
    said = "pod_by_pod: no such file or preset, did you mean pod-by-pod? (presets: default, kai, pod-by-pod, volcano)"
    assert str(raised.value) == said


def test_a_path_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"extends: d\xe9fault")
    (tmp_path / "long.yaml").write_text("é" * 600_000)
    said = []
    for path in (tmp_path, tmp_path / "latin.yaml", tmp_path / "long.yaml", tmp_path / "\0", tmp_path / ("x" * 300)):
        with pytest.raises(PolicyError) as raised:
            load_policy(str(path))
        said.append(str(raised.value).partition(": ")[2])
    assert said == [
        "cannot be read: Is a directory",
        "not UTF-8 text at byte 10",
        "found more than 1000000 bytes, which is no policy",
        "cannot be read: embedded null byte",
        "cannot be read: File name too long",
    ]

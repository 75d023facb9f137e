"""Paths become documents; what cannot be read becomes one line, and the rest proceeds."""

import errno
import io
from pathlib import Path

import pytest

from phalanx.sim.manifests import Manifests, decode, find, load

POD = "kind: Pod\nmetadata: {name: a}\n"
AS_READ = {"kind": "Pod", "metadata": {"name": "a"}}


def read(*paths: Path | str) -> Manifests:
    manifests = Manifests()
    for file in find([str(path) for path in paths], manifests):
        data = load(file, manifests)
        if data is not None:
            decode(data, file, manifests)
    return manifests


def decoded(text: str | bytes, name: str = "x.yaml") -> Manifests:
    manifests = Manifests()
    decode(text.encode() if isinstance(text, str) else text, name, manifests)
    return manifests


def objects(manifests: Manifests) -> list[object]:
    return [document.object for document in manifests.documents]


def test_a_directory_is_read_recursively_in_order_of_name_and_each_file_once(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("b/two.yml", "one.yaml", "three.json", "notes.txt", "b/.hidden.yaml"):
        (tmp_path / name).write_text(f'{{"kind": "{name}"}}')
    (tmp_path / "again.yaml").symlink_to(tmp_path / "one.yaml")
    manifests = read(tmp_path, tmp_path / "one.yaml")
    assert objects(manifests) == [{"kind": kind} for kind in ("one.yaml", "three.json", "b/.hidden.yaml", "b/two.yml")]
    assert (manifests.problems, manifests.unreadable) == ([], [])


def test_standard_input_may_be_yaml_or_json(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in (POD, '{"kind": "Pod", "metadata": {"name": "a"}}', "{kind: Pod, metadata: {name: a}}"):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        manifests = read("-")
        assert [(one.object, one.source) for one in manifests.documents] == [(AS_READ, "standard input")]


def test_lists_are_opened_and_their_items_know_their_kind() -> None:
    text = """
    kind: List
    items:
      - {kind: Node, metadata: {name: n1}}
      - {apiVersion: v1, kind: PodList, items: [{metadata: {name: a}}, {kind: Other, metadata: {name: b}}]}
    """
    assert [(one.object, one.source) for one in decoded(text).documents] == [
        ({"kind": "Node", "metadata": {"name": "n1"}}, "x.yaml item 1"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}, "x.yaml item 2 item 1"),
        ({"kind": "Other", "metadata": {"name": "b"}}, "x.yaml item 2 item 2"),
    ]


def test_a_broken_document_costs_no_other_document_of_its_file() -> None:
    manifests = decoded(f"{POD}---\na: [\n---\n{POD}")
    assert objects(manifests) == [AS_READ, AS_READ]
    assert [one.source for one in manifests.documents] == ["x.yaml", "x.yaml document 3"]
    assert manifests.problems == ["x.yaml:4: did not find expected node content (while parsing a flow node)"]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("x.yaml", "", "x.yaml: the file is empty"),
        ("x.json", " \n", "x.json: the file is empty"),
        ("x.yaml", "# a comment\n---\n", "x.yaml: the file has no objects"),
        ("x.yaml", "hello", "x.yaml: found text, allowed is a Kubernetes object"),
        ("x.yaml", "[1]", "x.yaml: found a list, allowed is a Kubernetes object"),
        ("x.yaml", "{a: 1}", "x.yaml: found no kind, allowed is a Kubernetes object with a kind"),
        ("x.yaml", "{kind: 1}", "x.yaml: found kind a number, allowed is a Kubernetes object with a kind"),
        ("x.yaml", "{kind: List, items: 5}", "x.yaml: List: items: found a number, allowed is a list"),
        ("x.yaml", "{kind: List, items: [5]}", "x.yaml item 1: found a number, allowed is a Kubernetes object"),
        ("x.json", '{\n"a": 1,\n"b" 2}', "x.json:3: not JSON: expected ':'"),
        ("x.json", '{"a": \n', "x.json:1: not JSON: Input data was truncated"),
        ("x.json", "[" * 100_000, "x.json:1: not JSON: nested too deep"),
        ("x.json", b'{"a": "\xff"}', "x.json:1: not JSON: not UTF-8 text"),
        ("x.json", '{"a": ' + "9" * 1_000_000 + "}", "x.json:1: not JSON: Integer value out of range - at `$[...]`"),
        ("x.json", '{"a": NaN}', "x.json:1: not JSON: invalid character"),
    ],
)
def test_what_is_no_object_is_one_line(name: str, text: str | bytes, problem: str) -> None:
    assert decoded(text, name) == Manifests([], [problem], [])


def test_a_path_that_does_not_exist_is_unreadable_and_a_folder_without_manifests_a_problem(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere")
    manifests = read(tmp_path / "empty", tmp_path / "missing.yaml", tmp_path / "gone.yaml")
    assert manifests.problems == [f"{tmp_path}/empty: the directory has no manifests (*.yaml, *.yml, *.json)"]
    assert manifests.unreadable == [
        f"{tmp_path}/missing.yaml: no such file or directory",
        f"{tmp_path}/gone.yaml: no such file or directory",
    ]


def test_a_file_that_may_not_be_read_is_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    (tmp_path / "secret.yaml").write_text(POD)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert read(tmp_path).unreadable == [f"{tmp_path}/secret.yaml: permission denied"]


def test_progress_counts_every_byte() -> None:
    data, seen = f"{POD}---\n{POD}".encode(), list[int]()
    decode(data, "x.yaml", Manifests(), seen.append)
    assert sum(seen) == len(data)

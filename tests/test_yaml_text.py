"""YAML is read as people write it, and strangers' tricks cost nothing."""

import json
import subprocess

import pytest

from phalanx.kube.local.binaries import find
from phalanx.kube.local.versions import wanted
from phalanx.policy.document import parse as policy_document
from phalanx.yaml_text import Malformed, Notes, parse, read_one, split


def read(text: str | bytes) -> list[object]:
    data = text.encode() if isinstance(text, str) else text
    return [value for line, part in split(data) for value in parse(part, line)]


#: What stands behind a key, and what it means. The second half is what YAML 1.2 or Python would say differently.
TABLE: dict[str, object] = {
    "12": 12, "-3": -3, "+5": 5, "1.5": 1.5, ".5": 0.5, "-.5": -0.5, "1e-3": 0.001, "8Gi": "8Gi", "": None,
    "true": True, "False": False, "~": None, "null": None, "tRue": "tRue", "=": "=", "'12'": "12", '"true"': "true",
    "!!str 12": "12", "!!int '12'": 12, "!!float 5": 5, "! 12": "12", "2026-11-01T12:00:00Z": "2026-11-01T12:00:00Z",
    "on": True, "yes": True, "NO": False, "y": True, "N": False, "oFF": "oFF", "'no'": "no",
    "007": 7, "0777": 511, "0o17": 15, "0x1F": 31, "-0x10": -16, "0b101": 5, "08": 8, "0_8": 8, "00": 0, "-0": 0,
    "1_000": 1000, "1__0": 10, "1_000.5": 1000.5, "1:30": "1:30", "2026-11-01": "2026-11-01",
    "1e3": 1000, "5.": 5, "1.e3": 1000, "1e400": "1e400", "9007199254740993": 9007199254740993,
    "123456789012345678901234567890": 1.2345678901234568e29, "100000000000000000000000.0": 1e23, "\u0665": "\u0665",
    "{on: 1}": {"true": 1}, "{1: x}": {"1": "x"}, "{1.5: x}": {"1.5": "x"}, "{NO: x}": {"false": "x"},
    "{0x1F: x}": {"31": "x"}, "{'on': x}": {"on": "x"}, "{2026-11-01: x}": {"2026-11-01": "x"},
    "[&one {a: 1, b: 2}, *one, {<<: *one, b: 3}]": [{"a": 1, "b": 2}, {"a": 1, "b": 2}, {"a": 1, "b": 3}],
    "{<<: [{a: 1, b: 1}, {b: 2, c: 2}]}": {"a": 1, "b": 1, "c": 2},
}  # fmt: skip


@pytest.mark.parametrize(("text", "value"), TABLE.items())
def test_manifests_policies_and_kubeconfigs_mean_the_same(text: str, value: object) -> None:
    written = f"found: {text}"
    (manifest,) = read(written)
    document = policy_document(written, "policy.yaml")
    assert manifest == document.value == read_one(written.encode()) == {"found": value}
    assert not document.mistakes
    found = manifest["found"] if isinstance(manifest, dict) else None
    assert type(found) is type(value)


def test_it_is_what_kubectl_makes_of_them() -> None:
    """Without a server: it only puts a label on what it read, and prints it."""
    kubectl = find("kubectl", wanted())
    if kubectl is None:
        pytest.skip("kubectl is neither installed nor built: python -m phalanx.kube.local build")
    lines = [f"  k{number}: {text}" for number, text in enumerate(TABLE)]
    text = "\n".join(["apiVersion: x.dev/v1", "kind: Any", "metadata: {name: a}", "spec:", *lines, ""])
    command = [str(kubectl), "label", "--local", "-f", "-", "-o", "json", "a=b"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["spec"] == {f"k{number}": value for number, value in enumerate(TABLE.values())}


def test_a_number_of_a_million_digits_stays_text() -> None:
    assert read("cpu: " + "9" * 1_000_000) == [{"cpu": "9" * 1_000_000}]


@pytest.mark.parametrize("number", [".inf", "-.Inf", ".NaN"])
def test_what_json_has_no_number_for_is_text_so_that_its_field_can_be_named(number: str) -> None:
    assert read(f"a: {number}") == [{"a": number}] == [read_one(f"a: {number}".encode())]


def test_a_key_that_stands_twice_is_refused_where_kubectl_takes_the_last_in_silence() -> None:
    text = "a: 1\na: 2"
    assert read_one(text.encode()) == Malformed(2, "key 'a' stands twice in one mapping")
    assert policy_document(text, "p.yaml").mistakes == ["p.yaml:2: a: given already, on line 1"]


def test_lines_are_known_where_they_are_asked_for() -> None:
    notes = Notes()
    assert read_one(b"a: 1\nb:\n- c: &x\n    d: 2\n- *x\n", notes) == {"a": 1, "b": [{"c": {"d": 2}}, {"d": 2}]}
    assert notes.lines == {
        (): 1, ("a",): 1, ("b",): 2, ("b", 0): 3, ("b", 0, "c"): 3, ("b", 0, "c", "d"): 4, ("b", 1): 5,
    }  # fmt: skip


def test_aliases_and_merge_keys_are_followed() -> None:
    text = """
    base: &base {cpu: 1, memory: 2}
    same: *base
    more: {<<: *base, memory: 3}
    both: {<<: [{a: 1, b: 1}, {b: 2, c: 2}]}
    """
    base = {"cpu": 1, "memory": 2}
    assert read(text) == [
        {"base": base, "same": base, "more": {"cpu": 1, "memory": 3}, "both": {"a": 1, "b": 1, "c": 2}}
    ]


def test_a_file_may_hold_several_documents_with_directives_and_comments() -> None:
    text = "%YAML 1.2\n---\na: 1\n--- # two\nb: |\n  text\n  --- no start\n...\n---\n# nothing\n---\n--- [c]\n"
    assert read(text) == [{"a": 1}, {"b": "text\n--- no start\n"}, ["c"]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_windows_editors_are_understood(encoding: str) -> None:
    assert read("a: ü\r\n---\r\nb: 2\r\n".encode(encoding)) == [{"a": "ü"}, {"b": 2}]


BOMB = "\n".join(["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"] + [
    f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 10)
])  # fmt: skip


@pytest.mark.parametrize(
    ("text", "malformed"),
    [
        ("a: 1\na: 2", Malformed(2, "key 'a' stands twice in one mapping")),
        ("a: [1,", Malformed(1, "did not find expected node content (while parsing a flow node)")),
        ("a: b: c", Malformed(1, "mapping values are not allowed in this context")),
        ("x:\n\ta: 1", Malformed(2, "found character that cannot start any token (while scanning for the next token)")),
        (
            "a: !!python/object:os.system x",
            Malformed(1, "tag tag:yaml.org,2002:python/object:os.system is not allowed"),
        ),
        ("a: !Ref x", Malformed(1, "tag !Ref is not allowed")),
        ("a: !!int x", Malformed(1, "found 'x', allowed is int")),
        ("? [a]\n: b", Malformed(1, "a key must be text")),
        ("~: b", Malformed(1, "a key must be text")),
        ("a: *b", Malformed(1, "alias *b has no anchor before it")),
        ("a: &a\n  b: *a", Malformed(2, "alias *a has no anchor before it")),
        ("<<: 5", Malformed(1, "<< takes a mapping or a list of mappings")),
        (BOMB, Malformed(6, "aliases add more than 1,000,000 values")),
        ("[" * 100_000, Malformed(1, "nested more than 200 levels deep")),
        (b"a: \xff\xfe", Malformed(1, "not text: invalid leading UTF-8 octet")),
        (b"a: 1\nb: \x00", Malformed(2, "not text: control characters are not allowed")),
        (b"\x7fELF\x02\x01\x00", Malformed(1, "not text: control characters are not allowed")),
    ],
)
def test_what_is_no_manifest_is_named_with_its_line_and_costs_no_other_document(
    text: str | bytes, malformed: Malformed
) -> None:
    data = text.encode() if isinstance(text, str) else text
    later = Malformed(malformed.line + 2, malformed.message)
    assert read(data) == [malformed]
    assert read(b"good: 1\n---\n" + data + b"\n---\ngood: 2\n") == [{"good": 1}, later, {"good": 2}]

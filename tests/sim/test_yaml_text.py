"""YAML is read as people write it, and strangers' tricks cost nothing."""

import pytest

from phalanx.sim.yaml_text import Malformed, parse, split


def read(text: str | bytes) -> list[object]:
    data = text.encode() if isinstance(text, str) else text
    return [value for line, part in split(data) for value in parse(part, line)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12), ("-3", -3), ("+5", 5), ("007", 7), ("1.5", 1.5), (".5", 0.5), ("1e3", 1000.0), ("5.", 5.0),
        ("true", True), ("False", False), ("~", None), ("null", None), ("", None),
        ("on", "on"), ("yes", "yes"), ("NO", "NO"), ("1_000", "1_000"), ("1:30", "1:30"), ("0x10", "0x10"),
        ("2026-11-01", "2026-11-01"), ("2026-11-01T12:00:00Z", "2026-11-01T12:00:00Z"), ("8Gi", "8Gi"),
        (".inf", ".inf"), (".nan", ".nan"), ("1e400", "1e400"), ("\u0665", "\u0665"), ("=", "="), ("0o7", "0o7"),
        ("'12'", "12"), ('"true"', "true"), ("!!str 12", "12"), ("!!int '12'", 12), ("! 12", "12"),
    ],
)  # fmt: skip
def test_scalars_follow_yaml_1_2(text: str, value: object) -> None:
    assert read(f"found: {text}") == [{"found": value}]
    assert type(read(f"found: {text}")[0]["found"]) is type(value)  # type: ignore[index]


def test_a_number_of_a_million_digits_stays_text() -> None:
    assert read("cpu: " + "9" * 1_000_000) == [{"cpu": "9" * 1_000_000}]


def test_keys_are_text_whatever_they_look_like() -> None:
    assert read("{1: a, true: b, 2026-11-01: c}") == [{"1": "a", "true": "b", "2026-11-01": "c"}]


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

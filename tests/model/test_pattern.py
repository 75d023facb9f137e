"""Patterns: the same names as a regular expression finds, in a time that no pattern stretches."""

import re
import time
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phalanx.model.pattern import SIZE_MAX, Pattern, PatternError

ATOMS = ["a", "b", "-", "1", ".", "[ab]", "[^a]", "[a-c1]", "[-a]", r"\d", r"\.", r"[\d.]", "^", "$", "[[:alpha:]]"]
REPEATS = ["", "", "", "*", "+", "?", "{2}", "{0,2}", "{1,}", "*?"]
NAMES = st.text("ab1-.c", max_size=9)


def wider(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = st.tuples(st.sampled_from(["(", "(?:", "(?P<x>"]), inner, st.just(")"), st.sampled_from(REPEATS))
    return st.lists(st.one_of(inner, group.map("".join), st.just("|")), max_size=3).map("".join)


REPEATED = st.tuples(st.sampled_from(ATOMS), st.sampled_from(REPEATS)).map(
    lambda pair: pair[0] if pair[0] in {"^", "$"} else "".join(pair)
)
PATTERNS = st.recursive(st.one_of(st.sampled_from(ATOMS), REPEATED), wider, max_leaves=6)


@given(PATTERNS, NAMES)
@example("^node-[0-9]+$", "node-17")
@example("(a|)$(a|)^", "")
@example("a{1,2}{", "aa{")
def test_a_pattern_is_found_where_python_finds_it(text: str, name: str) -> None:
    theirs = text.replace("$", r"\Z").replace("[[:alpha:]]", "[A-Za-z]").replace("(?P<x>", "(")
    assert Pattern(text).found_in(name) == bool(re.search(theirs, name, re.ASCII)), text


@given(st.text("(a|){}*+?[]^$\\1,:dbQ", max_size=20))
def test_whatever_stands_there_is_a_pattern_or_named_as_none(text: str) -> None:
    with suppress(PatternError):
        Pattern(text).found_in("a1b")


@pytest.mark.parametrize("text", ["^(a+)+$", "(a|aa)*b", ".*.*.*.*.*.*.*.*=", "(.?){200}z", "((a*)*)*c"])
def test_no_pattern_takes_for_ever(text: str) -> None:
    """Python's own would need longer than there is time for each of these."""
    before = time.process_time()
    assert not Pattern(text).found_in("a" * 253 + "d")
    assert time.process_time() - before < 60


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(", "a ( without its )"), ("a)", "a ) without its ("), ("[a", "[a has no ]"),
        ("*a", "* with nothing before it"), ("a**", "a repetition of a repetition"),
        (r"\bnode", r"\b is not known here"), ("(?=a)", "(?= is not known here"),
        ("(?i)a", "(?i is not known here"), ("a{1001}", "{1001} repeats more than 1000 times, or backwards"),
        ("((a{99}){99}){99}", "it is too large"), ("a\\", "a \\ at the end"), ("[z-a]", "z-a is no range"),
        ("(" * 60 + ")" * 60, "more than 50 groups inside each other"),
    ],
)  # fmt: skip
def test_what_is_no_pattern_is_refused_with_its_reason(text: str, said: str) -> None:
    with pytest.raises(PatternError, match=re.escape(said)):
        Pattern(text)


def test_the_largest_pattern_is_bounded_and_names_are_told_apart_by_how_they_begin() -> None:
    assert len(Pattern("a{1000}" * 4)._code) < SIZE_MAX
    assert Pattern("^node-[0-9]+$").prefix == "node-"
    assert [Pattern(text).prefix for text in ("^ab|c", "^(ab)+c", "^a?b", "^a*", "ab")] == ["", "ab", "", "", ""]

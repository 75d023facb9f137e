"""Patterns: regular expressions as Go has them, on names of objects, matched in a time that no pattern can stretch.

An automaton reads each character once. What Go has and names of objects never need is refused: word boundaries, flags,
classes of Unicode.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

Chars: TypeAlias = frozenset[str]
#: An instruction: what to read ("end": nothing, at the end; None: nothing), and where to go on. The last one accepts.
_Code: TypeAlias = list[tuple[Chars | str | None, tuple[int, ...]]]

#: So many instructions at most: a pattern with nested repetitions asks for millions.
SIZE_MAX = 4096
REPEAT_MAX = 1000
DEPTH_MAX = 50
#: So many sets of instructions are remembered.
_KNOWN_MAX = 1024

_ASCII = frozenset(map(chr, range(128)))
_DIGIT = frozenset("0123456789")
_LOWER = frozenset("abcdefghijklmnopqrstuvwxyz")
_UPPER = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_WORD = _DIGIT | _LOWER | _UPPER | {"_"}
_SPACE = frozenset("\t\n\f\r ")
_CLASSES = {"d": _DIGIT, "w": _WORD, "s": _SPACE, "D": _ASCII - _DIGIT, "W": _ASCII - _WORD, "S": _ASCII - _SPACE}
_NAMED = {
    "alnum": _WORD - {"_"}, "alpha": _LOWER | _UPPER, "digit": _DIGIT, "lower": _LOWER, "upper": _UPPER, "word": _WORD,
}  # fmt: skip
_PUNCTUATION = frozenset("\\.+*?()|[]{}^$-/ _:,;=@#%&~'\"<>!")


class PatternError(ValueError):
    """A text that is no pattern: what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern. Two of one text are equal."""

    text: str
    _code: _Code = field(init=False, repr=False, compare=False)
    _steps: dict[tuple[frozenset[int], str], frozenset[int]] = field(
        init=False, repr=False, compare=False, default_factory=dict[tuple[frozenset[int], str], frozenset[int]]
    )
    #: What every name that matches begins with, and has somewhere.
    prefix: str = field(init=False, repr=False, compare=False)
    _needle: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        code: _Code = []
        parser = _Parser(self.text, code)
        parser.whole()
        object.__setattr__(self, "_code", code)
        anchored = code[0][0] == "begin"
        object.__setattr__(self, "_needle", _plain(code, 1 if anchored else 0))
        object.__setattr__(self, "prefix", self._needle if anchored else "")

    def found_in(self, name: str) -> bool:
        """Tell whether some part of a name matches."""
        if not name.startswith(self.prefix) or self._needle not in name:
            return False
        last = len(self._code) - 1
        state = self._reached([0], first=True)
        for char in name:
            if last in state:
                return True
            known = self._steps.get((state, char))
            if known is None:
                known = self._step(state, char)
            state = known
        return last in state or last in self._reached(list(state), first=not name, end=True)

    def _step(self, state: frozenset[int], char: str) -> frozenset[int]:
        targets = [to for at in state for to in self._reads(at, char)]
        if len(self._steps) >= _KNOWN_MAX:
            self._steps.clear()
        # A match may begin anywhere.
        found = self._steps[state, char] = self._reached([*targets, 0])
        return found

    def _reads(self, at: int, char: str) -> tuple[int, ...]:
        reads, to = self._code[at]
        return to if isinstance(reads, frozenset) and char in reads else ()

    def _reached(self, todo: list[int], *, first: bool = False, end: bool = False) -> frozenset[int]:
        """Return the instructions that are reached without reading."""
        seen = set[int]()
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            reads, to = self._code[at]
            if reads is None or (reads == "begin" and first) or (reads == "end" and end):
                todo.extend(to)
        return frozenset(seen)


def _plain(code: _Code, at: int) -> str:
    """Return the characters that are read one after the other from here on, whatever follows."""
    found = ""
    while True:
        reads, to = code[at]
        if not (isinstance(reads, frozenset) and len(reads) == 1 and to == (at + 1,)):
            return found
        found, at = found + next(iter(reads)), at + 1


class _Parser:
    """Reads a pattern and writes the automaton."""

    def __init__(self, text: str, code: _Code) -> None:
        self._text, self._code, self._at, self._depth = text, code, 0, 0

    def whole(self) -> None:
        """Read all of it."""
        self._either()
        if self._at < len(self._text):
            raise PatternError("a ) without its (")
        self._write(None, 0)

    def _write(self, reads: Chars | str | None, *hops: int) -> None:
        """Write an instruction that goes on so many instructions further."""
        if len(self._code) >= SIZE_MAX:
            raise PatternError("it is too large")
        at = len(self._code)
        self._code.append((reads, tuple(at + hop for hop in hops)))

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _either(self) -> None:
        """Read alternatives."""
        start = len(self._code)
        self._sequence()
        while self._peek() == "|":
            self._at += 1
            first = self._cut(start)
            second_at = len(self._code)
            self._sequence()
            second = self._cut(second_at)
            self._write(None, 1, len(first) + 2)
            self._paste(first)
            self._write(None, len(second) + 1)
            self._paste(second)

    def _cut(self, start: int) -> _Code:
        """Take what was written since, with hops in the place of targets."""
        piece = [(reads, tuple(one - at for one in to)) for at, (reads, to) in enumerate(self._code) if at >= start]
        del self._code[start:]
        return piece

    def _paste(self, piece: _Code) -> None:
        for reads, hops in piece:
            self._write(reads, *hops)

    def _sequence(self) -> None:
        while self._peek() not in {"", "|", ")"}:
            start = len(self._code)
            self._one()
            bounds = self._repeat()
            if bounds is not None:
                self._again(self._cut(start), *bounds)
                if self._repeat() is not None:
                    raise PatternError("a repetition of a repetition")

    def _again(self, piece: _Code, least: int, most: int | None) -> None:
        """Write a piece as often as it may be repeated."""
        for _ in range(least):
            self._paste(piece)
        if most is None:
            self._write(None, 1, len(piece) + 2)
            self._paste(piece)
            self._write(None, -len(piece) - 1)
            return
        for left in range(most - least, 0, -1):
            self._write(None, 1, left * (len(piece) + 1))
            self._paste(piece)

    def _repeat(self) -> tuple[int, int | None] | None:
        """Read how often what stands before it is repeated; None: once."""
        simple = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(self._peek())
        if simple is not None:
            self._at += 1
        else:
            simple = self._counted()
        if simple is not None and self._peek() == "?":
            # As few as can be: the same names match.
            self._at += 1
        return simple

    def _counted(self) -> tuple[int, int | None] | None:
        end = self._text.find("}", self._at)
        if self._peek() != "{" or end < 0:
            return None
        low, comma, high = self._text[self._at + 1 : end].partition(",")
        if not (low.isdecimal() and low.isascii() and (not high or (high.isdecimal() and high.isascii()))):
            return None
        least = int(low[:5])
        most = least if not comma else int(high[:5]) if high else None
        if max(least, most or 0) > REPEAT_MAX or (most is not None and most < least):
            raise PatternError(f"{self._text[self._at : end + 1]} repeats more than {REPEAT_MAX} times, or backwards")
        self._at = end + 1
        return least, most

    def _one(self) -> None:
        """Read one character, class, group or anchor."""
        char = self._peek()
        self._at += 1
        if char == "(":
            self._group()
        elif char == "[":
            self._write(self._class(), 1)
        elif char == ".":
            self._write(_ASCII - {"\n"}, 1)
        elif char in {"^", "$"}:
            self._write("begin" if char == "^" else "end", 1)
        elif char in {"*", "+", "?"}:
            raise PatternError(f"{char} with nothing before it")
        elif char == "\\":
            word = self._peek()
            if word in {"A", "z"}:
                self._at += 1
                self._write("begin" if word == "A" else "end", 1)
            else:
                self._write(self._escape(), 1)
        else:
            self._write(frozenset(char), 1)

    def _group(self) -> None:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise PatternError(f"more than {DEPTH_MAX} groups inside each other")
        if self._peek() == "?":
            end = self._text.find(">", self._at)
            if self._text.startswith("?:", self._at):
                self._at += 2
            elif self._text.startswith(("?P<", "?<"), self._at) and end > 0 and self._name(end):
                self._at = end + 1
            else:
                raise PatternError(f"({self._text[self._at : self._at + 2]} is not known here")
        self._either()
        if self._peek() != ")":
            raise PatternError("a ( without its )")
        self._at += 1
        self._depth -= 1

    def _name(self, end: int) -> bool:
        name = self._text[self._at : end].partition("<")[2]
        return bool(name) and set(name) <= _WORD

    def _escape(self) -> Chars:
        """Read what follows a backslash."""
        char = self._peek()
        self._at += 1
        if char in _CLASSES:
            return _CLASSES[char]
        if char and char in _PUNCTUATION:
            return frozenset(char)
        raise PatternError(f"\\{char} is not known here" if char else "a \\ at the end")

    def _class(self) -> Chars:
        """Read a class of characters, after its [."""
        found, start = set[str](), self._at
        negated = self._peek() == "^"
        self._at += negated
        begun = self._at
        while self._peek() != "]" or self._at == begun:
            if not self._peek():
                raise PatternError(f"{self._text[start - 1 : start + 20]} has no ]")
            found |= self._part_of_class()
        self._at += 1
        return _ASCII - found if negated else frozenset(found)

    def _part_of_class(self) -> Chars:
        if self._text.startswith("[:", self._at):
            end = self._text.find(":]", self._at)
            named = _NAMED.get(self._text[self._at + 2 : end]) if end > 0 else None
            if named is None:
                raise PatternError(f"{self._text[self._at : self._at + 12]} is no class that is known here")
            self._at = end + 2
            return named
        low = self._character()
        if len(low) != 1 or self._peek() != "-" or self._text[self._at + 1 : self._at + 2] in {"]", ""}:
            return low
        self._at += 1
        high = self._character()
        first, last = next(iter(low)), next(iter(high))
        if len(high) != 1 or last < first:
            raise PatternError(f"{first}-{last} is no range")
        return frozenset(char for char in _ASCII if first <= char <= last)

    def _character(self) -> Chars:
        char = self._peek()
        self._at += 1
        return self._escape() if char == "\\" else frozenset(char)

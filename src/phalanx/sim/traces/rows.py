"""Rows of a CSV file, plain or gzip, with every mistake told as `file:row: column: found …, allowed is …`."""

import csv
import gzip
import io
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from phalanx.model.quantity import shown
from phalanx.policy.spelling import nearest

GZIP = b"\x1f\x8b"
#: More rows than any public trace of jobs has; it bounds what one file can make.
ROWS_MAX = 2_000_000
#: So many mistakes are told one by one; a file of another kind has one on every row.
TOLD_MAX = 20

Value = TypeVar("Value")


class TraceError(Exception):
    """A trace with mistakes, one line each."""


@dataclass(slots=True)
class Rows:
    """The rows of one file."""

    source: str
    columns: tuple[str, ...]
    _reader: Iterator[list[str]]
    mistakes: list[str] = field(default_factory=list[str])
    _more: int = 0

    def need(self, *columns: str) -> None:
        """Refuse a file in which one of these columns is missing."""
        for column in columns:
            if column not in self.columns:
                meant = nearest(column, self.columns)
                found = f"found {', '.join(map(shown, self.columns[:12]))}" if self.columns else "the file is empty"
                hint = f"; did you mean {shown(meant)}?" if meant else ""
                raise TraceError(f"{self.source}:1: column {column}: missing, {found}{hint}")

    def read(self, make: Callable[["Row"], Value]) -> list[Value]:
        """Return what is made of each row; raise a TraceError that lists the rows from which nothing can be made."""
        made = []
        for number, cells in enumerate(self._reader, start=2):
            if not any(cells):
                continue
            if number > ROWS_MAX:
                raise TraceError(f"{self.source}:{number}: found more rows, allowed are at most {ROWS_MAX:,}")
            try:
                if len(cells) != len(self.columns):
                    raise ValueError(f"found {len(cells)} cells, allowed are {len(self.columns)} as in row 1")  # noqa: TRY301
                made.append(make(Row(number, dict(zip(self.columns, cells, strict=True)))))
            except ValueError as error:
                self._note(f"{self.source}:{number}: {error}")
        if self.mistakes:
            more = [f"{self.source}: {self._more:,} more rows with mistakes"] if self._more else []
            raise TraceError("\n".join([*self.mistakes, *more]))
        return made

    def _note(self, mistake: str) -> None:
        if len(self.mistakes) < TOLD_MAX:
            self.mistakes.append(mistake)
        else:
            self._more += 1


@dataclass(frozen=True, slots=True)
class Row:
    """One row: cells by column."""

    number: int
    cells: Mapping[str, str]

    def text(self, column: str) -> str:
        """Return a cell without blanks around it; empty where there is none."""
        return self.cells.get(column, "").strip()

    def number_of(self, column: str, default: float | None = None) -> float:
        """Return a number that is not negative."""
        text = self.text(column)
        if not text and default is not None:
            return default
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not 0 <= value < 2**53:
            raise ValueError(f"{column}: found {shown(text)}, allowed is a number from 0 on")
        return value

    def count(self, column: str, default: int | None = None, least: int = 0) -> int:
        """Return a whole number."""
        value = self.number_of(column, default)
        if value != int(value) or value < least:
            raise ValueError(f"{column}: found {shown(self.text(column))}, allowed is a whole number from {least} on")
        return int(value)


def open_rows(path: str) -> Rows:
    """Open a file, and read its first row: the names of its columns."""
    try:
        data = Path(path).read_bytes()
        if data[:2] == GZIP:
            data = gzip.decompress(data)
        text = data.decode("utf-8-sig")
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TraceError(f"{path}: {reason.lower()}") from None
    except UnicodeDecodeError:
        raise TraceError(f"{path}: not UTF-8 text, allowed is a CSV file, plain or gzip") from None
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        columns = tuple(cell.strip() for cell in next(reader, []))
    except csv.Error as error:
        raise TraceError(f"{path}:1: {error}, allowed is a CSV file, plain or gzip") from None
    if not columns:
        raise TraceError(f"{path}: found an empty file, allowed is a CSV file whose first row names its columns")
    return Rows(path, columns, _lines(path, reader))


def _lines(path: str, reader: Iterator[list[str]]) -> Iterator[list[str]]:
    try:
        yield from reader
    except csv.Error as error:
        raise TraceError(f"{path}: {error}, allowed is a CSV file, plain or gzip") from None

"""What to measure, from the environment.

QUICK=1, SIZES=1000x4000,…, ONLY=phalanx,…, PEERS=all, TABLES=backlog,…, RECLAIM=100,500 (nodes of the table reclaim),
SHAPES=1000x900 (of the table shapes; a tenth of the pods is there already), ROUNDS=3 (of the tables events and limit;
of the table first, twice as many).
"""

import os
import sys
from dataclasses import dataclass

TABLES = ("backlog", "plain", "stream", "start", "huge", "reclaim", "events", "first", "shapes", "limit")
_SIZES = {"quick": "100x400", "whole": "1000x4000,5000x10000"}


@dataclass(frozen=True, slots=True)
class Size:
    """Nodes of 8 GPUs, and one-GPU pods that wait for them."""

    nodes: int
    pods: int

    def __str__(self) -> str:
        return f"{self.nodes:,} nodes, {self.pods:,} pods"


@dataclass(frozen=True, slots=True)
class Settings:
    """One run of the benchmark."""

    tables: tuple[str, ...]
    sizes: tuple[Size, ...]
    huge: Size
    #: Nodes, pods per second, seconds.
    stream: tuple[int, int, int]
    start: Size
    #: Numbers of nodes.
    reclaim: tuple[int, ...]
    #: Nodes of pods that are bound, and pods that wait for what nobody has; and how often.
    events: tuple[Size, int]
    #: A backlog, and how often a scheduler is started before it.
    first: tuple[Size, int]
    #: How often everybody has a turn in the table limit.
    rounds: int
    #: A backlog in each shape.
    shapes: Size
    #: Names of contenders; empty: all that belong to a table.
    only: frozenset[str]
    peers: bool


def settings() -> Settings:
    """Read the environment."""
    quick = bool(os.environ.get("QUICK"))
    return Settings(
        tables=_tables(),
        sizes=tuple(map(_size, (os.environ.get("SIZES") or _SIZES["quick" if quick else "whole"]).split(","))),
        huge=_size("200x800" if quick else os.environ.get("HUGE", "20000x20000")),
        stream=(200, 50, 5) if quick else (2000, 200, 60),
        start=Size(100, 1_000) if quick else Size(1_000, 10_000),
        reclaim=tuple(map(int, (os.environ.get("RECLAIM") or ("20" if quick else "100,500")).split(","))),
        events=(Size(20, 200), 1) if quick else (Size(500, 5_000), int(os.environ.get("ROUNDS", "3"))),
        first=(Size(50, 200), 2) if quick else (Size(300, 1_200), 2 * int(os.environ.get("ROUNDS", "3"))),
        rounds=1 if quick else int(os.environ.get("ROUNDS", "3")),
        shapes=_size(os.environ.get("SHAPES") or ("100x60" if quick else "1000x900")),
        only=frozenset(filter(None, os.environ.get("ONLY", "").split(","))),
        peers=os.environ.get("PEERS") == "all",
    )


def _tables() -> tuple[str, ...]:
    chosen = tuple(filter(None, os.environ.get("TABLES", "").split(","))) or TABLES
    for name in chosen:
        if name not in TABLES:
            sys.exit(f"TABLES: found {name!r}, allowed are {', '.join(TABLES)}")
    return chosen


def _size(text: str) -> Size:
    nodes, _, pods = text.partition("x")
    if not (nodes.isdecimal() and pods.isdecimal()):
        sys.exit(f"SIZES: found {text!r}, allowed is NODESxPODS such as 1000x4000")
    return Size(int(nodes), int(pods))

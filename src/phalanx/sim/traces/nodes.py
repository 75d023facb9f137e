"""The nodes that a trace runs on: `80x8`, `40x8:V100`, or the rows of a CSV file."""

import re

from phalanx.model.axis import CPU, GPU, MEMORY
from phalanx.model.quantity import QuantityError, capacity, shown
from phalanx.sim.lines import NodeLine
from phalanx.sim.traces.formats import name_of
from phalanx.sim.traces.rows import Row, Rows, TraceError, open_rows
from phalanx.sim.words import COUNT_MAX

_EQUAL = re.compile(r"(?P<count>[1-9][0-9]{0,5})x(?P<gpus>[0-9]{1,4})(?::(?P<model>[A-Za-z0-9._-]{1,60}))?", re.ASCII)
#: Where a list of nodes says nothing of them, pods of a trace that says nothing either never lack them.
PLENTY = {CPU: "1000", MEMORY: "100Ti"}
PODS = "1000"
PLAIN = ("name", "cpu", "memory", "gpus", "model", "rack", "count")
OPENB = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
_ALLOWED = "allowed is COUNTxGPUS, such as 80x8 or 40x8:V100, or a CSV file"


def nodes_of(text: str) -> list[NodeLine]:
    """Return the nodes that `--nodes` means."""
    equal = _EQUAL.fullmatch(text)
    if equal is None:
        return _from_file(text)
    count, gpus = int(equal["count"]), equal["gpus"]
    if count > COUNT_MAX:
        raise TraceError(f"--nodes: found {count} nodes, allowed are at most {COUNT_MAX}")
    amounts = {**PLENTY, "pods": PODS, GPU: gpus}
    width = len(str(count - 1))
    return [_node(f"n{at:0{width}}", amounts, equal["model"]) for at in range(count)]


def _from_file(path: str) -> list[NodeLine]:
    try:
        rows = open_rows(path)
    except TraceError as error:
        raise TraceError(f"--nodes: {error}, {_ALLOWED}") from None
    if set(OPENB) <= set(rows.columns):
        found = rows.read(_openb)
    else:
        unknown = [column for column in rows.columns if column not in PLAIN]
        if unknown:
            raise TraceError(f"{path}:1: column {shown(unknown[0])}: unknown, allowed are {', '.join(PLAIN)}")
        rows.need("name", "gpus")
        found = [line for lines in rows.read(_plain) for line in lines]
    _alone(rows, found)
    return found


def _openb(row: Row) -> NodeLine:
    amounts = {
        CPU: f"{row.count('cpu_milli')}m",
        MEMORY: f"{row.count('memory_mib')}Mi",
        "pods": PODS,
        GPU: str(row.count("gpu")),
    }
    return _node(name_of(row.text("sn"), row), amounts, row.text("model") or None)


def _plain(row: Row) -> list[NodeLine]:
    amounts = {**PLENTY, "pods": PODS, GPU: str(row.count("gpus"))}
    for column, resource in (("cpu", CPU), ("memory", MEMORY)):
        text = row.text(column)
        if text:
            try:
                capacity(text, resource)
            except QuantityError as error:
                raise ValueError(f"{column}: {error}") from None
            amounts[resource] = text
    count, name = row.count("count", 1, least=1), name_of(row.text("name"), row)
    if count > COUNT_MAX:
        raise ValueError(f"count: found {count}, allowed is a whole number from 1 to {COUNT_MAX}")
    rack = {"topology.kubernetes.io/rack": row.text("rack")} if row.text("rack") else {}
    names = [name] if count == 1 else [f"{name}-{at:0{len(str(count - 1))}}" for at in range(count)]
    return [_node(one, amounts, row.text("model") or None, rack) for one in names]


def _node(name: str, amounts: dict[str, str], model: str | None, labels: dict[str, str] | None = None) -> NodeLine:
    return NodeLine(line=0, name=name, amounts=amounts, label=labels or {}, taint=(), gpu_model=model)


def _alone(rows: Rows, nodes: list[NodeLine]) -> None:
    """Refuse a name that two nodes have."""
    seen: set[str] = set()
    for node in nodes:
        if node.name in seen:
            raise TraceError(f"{rows.source}: found two nodes called {node.name}, allowed is one of a name")
        seen.add(node.name)

"""The formats of traces: how each is known by its columns, and how a row of it is a job.

A reader takes the rows and returns jobs in the order of the file. The plain form is ours; docs/traces.md has it.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from phalanx.model.axis import CPU, MEMORY
from phalanx.model.quantity import QuantityError, request, shown
from phalanx.sim import network
from phalanx.sim.traces.job import Job
from phalanx.sim.traces.rows import Row, Rows, TraceError
from phalanx.sim.words import COUNT_MAX, priority

MIB = 2**20
#: Of a host in the Philly and the Kalos trace.
GPUS_PER_HOST = 8
_NOT_A_NAME = re.compile(r"[^a-z0-9.-]+")
_TIMES = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class Format:
    """One format."""

    name: str
    #: That these columns are there tells it from the others.
    columns: tuple[str, ...]
    read: Callable[[Rows], list[Job]]


def openb(rows: Rows) -> list[Job]:
    """Read Alibaba's openb (cluster-trace-gpu-v2023): one pod a row; the multi-GPU lists have no times."""
    timed = "creation_time" in rows.columns

    def job(row: Row) -> Job:
        arrival = row.number_of("creation_time") if timed else 0.0
        end = row.number_of("deletion_time", math.inf) if timed and row.text("deletion_time") else None
        if end is not None and end < arrival:
            raise ValueError(
                f"deletion_time: found {shown(row.text('deletion_time'))}, allowed is creation_time or later"
            )
        gpus = row.count("num_gpu")
        part = row.count("gpu_milli")
        if gpus and not 1 <= part <= 1000:
            raise ValueError(f"gpu_milli: found {part}, allowed is a whole number from 1 to 1000")
        if gpus > 1 and part < 1000:
            raise ValueError(f"gpu_milli: found {part} beside num_gpu {gpus}, allowed is 1000: parts are of one GPU")
        # A list may name a model twice.
        models = tuple(dict.fromkeys(one for one in row.text("gpu_spec").split("|") if one))
        return Job(
            name_of(row.text("name"), row), arrival, None if end is None else end - arrival,
            cpu=row.count("cpu_milli"), memory=row.count("memory_mib"), gpus=gpus, part=part if gpus else 1000,
            models=models if gpus else (),
        )  # fmt: skip

    return rows.read(job)


def philly(rows: Rows) -> list[Job]:
    """Read Microsoft's Philly in the form of AdaptDL: jobs of so many GPUs; what one host cannot hold is a gang."""

    def job(row: Row) -> Job:
        gpus = row.count("num_gpus", least=1)
        members = -(-gpus // GPUS_PER_HOST)
        # 20 GPUs are three pods of 8: whoever trained on them had three hosts.
        each = gpus if members == 1 else GPUS_PER_HOST
        queue = name_of(row.text("cluster"), row)
        arrival = moment(row, "timestamp")
        return Job(f"job-{row.number}", arrival, row.number_of("duration"), members, gpus=each, queue=queue)

    return rows.read(job)


def kalos(rows: Rows) -> list[Job]:
    """Read Acme's Kalos in its converted form: large-model jobs; a runtime is iterations of computing and talking."""

    def job(row: Row) -> Job:
        talking = row.number_of("iteration_networking_time")
        step = row.number_of("iteration_computing_time") + talking
        cpu = round(1000 * row.number_of("cpu_per_gpu_worker", 0.0))
        return Job(
            f"job-{row.number}", row.number_of("arrival_time"), row.count("num_iteration") * step,
            row.count("gpu_workers", least=1), cpu=cpu, gpus=row.count("gpu_per_worker"),
            communication=talking / step if step else None,
        )  # fmt: skip

    return rows.read(job)


def plain(rows: Rows) -> list[Job]:
    """Read our own form: `arrival` and whatever else is known."""
    unknown = [column for column in rows.columns if column not in PLAIN]
    if unknown:
        raise TraceError(f"{rows.source}:1: column {shown(unknown[0])}: unknown, allowed are {', '.join(PLAIN)}")
    rows.need("arrival")
    seen: dict[str, int] = {}

    def job(row: Row) -> Job:
        name = name_of(row.text("name") or f"job-{row.number}", row)
        if name in seen:
            raise ValueError(f"name: found {shown(name)}, which row {seen[name]} has, allowed is one job of a name")
        seen[name] = row.number
        gpus, part = _gpus(row)
        found = Job(
            name, moment(row, "arrival"), row.number_of("runtime") if row.text("runtime") else None,
            row.count("members", 1, least=1), _amount(row, "cpu", CPU), -(-_amount(row, "memory", MEMORY) // MIB), gpus,
            part, tuple(dict.fromkeys(one.strip() for one in row.text("models").split("|") if one.strip())),
            name_of(row.text("queue"), row) if row.text("queue") else None, row.text("user") or None,
            priority(row.text("priority")) if row.text("priority") else 0,
            network.part(row.text("communication")) if row.text("communication") else None,
        )  # fmt: skip
        if found.members > COUNT_MAX:
            raise ValueError(f"members: found {found.members}, allowed is a whole number from 1 to {COUNT_MAX}")
        return found

    return rows.read(job)


PLAIN = (
    "name", "arrival", "runtime", "members", "cpu", "memory", "gpus", "models", "queue", "user", "priority",
    "communication",
)  # fmt: skip

FORMATS = (
    Format("openb", ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli"), openb),
    Format("philly", ("timestamp", "duration", "num_gpus"), philly),
    Format("kalos", ("arrival_time", "num_iteration", "gpu_workers", "gpu_per_worker"), kalos),
    Format("plain", ("arrival",), plain),
)


def format_of(rows: Rows) -> Format:
    """Return the format of a file by its columns."""
    for one in FORMATS:
        if set(one.columns) <= set(rows.columns):
            return one
    forms = "; ".join(f"{one.name}: {', '.join(one.columns)}" for one in FORMATS)
    raise TraceError(f"{rows.source}:1: found columns of no format that is known ({forms})")


def name_of(text: str, row: Row) -> str:
    """Return a name as Kubernetes allows it; what has none is called after its row."""
    return _NOT_A_NAME.sub("-", text.lower()).strip("-.")[:200] or f"row-{row.number}"


def moment(row: Row, column: str) -> float:
    """Return a time in seconds: a number, or a date and time."""
    text = row.text(column)
    for form in _TIMES if "-" in text[1:] else ():
        try:
            return (datetime.strptime(text, form) - datetime(1970, 1, 1)).total_seconds()  # noqa: DTZ001, DTZ007 (UTC)
        except ValueError:
            continue
    try:
        return row.number_of(column)
    except ValueError:
        raise ValueError(
            f"{column}: found {shown(text)}, allowed is a number of seconds from 0 on, or 2026-11-01 12:00:00"
        ) from None


def _gpus(row: Row) -> tuple[int, int]:
    """Return whole GPUs, or one and how much of it."""
    value = row.number_of("gpus", 0.0)
    if value == int(value):
        return int(value), 1000
    if value > 1:
        raise ValueError(f"gpus: found {shown(row.text('gpus'))}, allowed is a whole number, or a part below 1")
    return 1, math.ceil(round(value * 1000, 6))


def _amount(row: Row, column: str, resource: str) -> int:
    try:
        return request(row.text(column) or "0", resource)
    except QuantityError as error:
        raise ValueError(f"{column}: {error}") from None

"""`python -m bench.cluster`: Phalanx and others on real control planes, one after the other, as tables with ratios."""

import os
import sys

from bench.cluster import reclaimers
from bench.cluster.backlog import Row, measure, race
from bench.cluster.contenders import (
    KUBE,
    KUBE_BATCHING,
    KUBE_GANGS,
    KUBE_NO_BATCHING,
    NULL,
    PHALANX,
    PHALANX_PLAIN,
    Contender,
    chosen,
)
from bench.cluster.events import EVENTS, NODES_AFTER, WAVES, measure_events
from bench.cluster.first_bind import measure_first_bind
from bench.cluster.limit import measure_limit
from bench.cluster.peers import PEERS
from bench.cluster.reclaim import measure_reclaim
from bench.cluster.settings import Settings, Size, settings
from bench.cluster.shapes import SHAPES, crowd, machines
from bench.cluster.starting import measure_start
from bench.cluster.stream import measure_stream
from bench.cluster.tables import (
    backlog_table,
    events_table,
    first_bind_table,
    limit_table,
    reclaim_table,
    shape_table,
    start_table,
    stream_table,
)
from phalanx import __version__
from phalanx.kube.local import ControlPlane, LocalError
from phalanx.kube.local.versions import module_of, wanted
from phalanx.testing.objects import Manifest, create_all


def main() -> int:
    """Measure what the environment asks for."""
    asked = settings()
    print(f"{os.cpu_count()} cores for control plane and scheduler together; gangs of 8 one-GPU pods; nodes of 8 GPUs")
    kubernetes = module_of("kube-scheduler", wanted()).version
    peers = [each.title for each in PEERS] if asked.peers else []
    print(", ".join([f"Phalanx {__version__}", f"Kubernetes and kube-scheduler {kubernetes}", *peers]))
    try:
        for name in asked.tables:
            _TABLES[name](asked)
    except LocalError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _backlog(asked: Settings) -> None:
    for size in asked.sizes:
        rows = [_told(measure(each, size)) for each in chosen((NULL, *_gang_schedulers(asked)), asked.only)]
        backlog_table(f"Backlog of gangs: {size} ({_enough(size)} nodes suffice)", rows)


def _plain(asked: Settings) -> None:
    contenders = (NULL, PHALANX_PLAIN, KUBE, KUBE_BATCHING, KUBE_NO_BATCHING)
    for size in asked.sizes:
        rows = [_told(measure(each, size)) for each in chosen(contenders, asked.only)]
        backlog_table(f"Backlog of pods in no gang: {size} ({_enough(size)} nodes suffice)", rows)


def _stream(asked: Settings) -> None:
    nodes, rate, seconds = asked.stream
    rows = [measure_stream(each, nodes, rate, seconds) for each in chosen(_gang_schedulers(asked), asked.only)]
    stream_table(f"Stream: {rate} pods/s in gangs of 8 for {seconds} s on {nodes:,} nodes", rows)


def _start(asked: Settings) -> None:
    rows = [measure_start(each, asked.start) for each in chosen(_gang_schedulers(asked), asked.only)]
    start_table(f"Start in a full cluster: {asked.start}, one gang waits", rows)


def _huge(asked: Settings) -> None:
    rows = [_told(measure(each, asked.huge)) for each in chosen((NULL, PHALANX), asked.only)]
    backlog_table(f"Large: {asked.huge} ({_enough(asked.huge)} nodes suffice)", rows)


def _reclaim(asked: Settings) -> None:
    everybody = (reclaimers.NULL, reclaimers.PLACES, reclaimers.PHALANX, *(reclaimers.PEERS if asked.peers else ()))
    contenders = [each for each in everybody if not asked.only or each.name.lower().replace(" ", "-") in asked.only]
    for nodes in asked.reclaim:
        rows = []
        for each in contenders:
            rows.append(measure_reclaim(each, nodes))
            sys.stderr.write(f"{each.name}: half after {rows[-1].last:.1f} s, {rows[-1].evicted:,} evicted\n")
        title = f"Reclaim: {nodes:,} nodes full with one queue, as many pods of another wait; until it has its half"
        reclaim_table(title, rows)


def _events(asked: Settings) -> None:
    size, rounds = asked.events
    rows = []
    for number in range(2 * rounds):
        rows.append(measure_events(size, EVENTS[number % 2]))
        sys.stderr.write(f"{rows[-1]}\n")
    others = f"{size.nodes * 8:,} others are bound in {WAVES} waves, after {NODES_AFTER:.0f} s"
    events_table(f"Events: {size.pods:,} pods wait, {others}", rows)


def _first(asked: Settings) -> None:
    size, rounds = asked.first
    phases = measure_first_bind(size, rounds)
    first_bind_table(f"First bind: where the time goes, {size}, medians of {rounds} starts", phases)


def _limit(asked: Settings) -> None:
    size = asked.sizes[0]
    limit_table(f"The limit: {size}, medians of {asked.rounds} rounds", measure_limit(size, asked.rounds))


def _shapes(asked: Settings) -> None:
    size, there = asked.shapes, asked.shapes.pods // 10
    for shape in SHAPES:
        rows = []
        for each in chosen((PHALANX_PLAIN, KUBE), asked.only):
            scheduler = "phalanx" if each is PHALANX_PLAIN else "default-scheduler"
            first, second = machines(shape, size), crowd(shape, size, there, scheduler)

            def lay_out(plane: ControlPlane, objects: tuple[list[Manifest], ...] = (first, second)) -> None:
                for batch in objects:
                    create_all(plane.kubeconfig, batch)

            rows.append(_told(race(each, size, lay_out)))
        shape_table(f"{shape.name}: {size}, {there:,} pods there already", rows)


def _told(row: Row) -> Row:
    """Say it as soon as it is known: a table may take half an hour."""
    sys.stderr.write(f"{row.name}: {row.bound:,} pods, {row.per_second:,.0f}/s from start, CPU {row.cpu:.1f} s\n")
    return row


def _gang_schedulers(asked: Settings) -> list[Contender]:
    return [PHALANX, KUBE, KUBE_GANGS, *(PEERS if asked.peers else ())]


def _enough(size: Size) -> str:
    return f"{-(-size.pods // 8):,}"


_TABLES = {
    "backlog": _backlog,
    "plain": _plain,
    "stream": _stream,
    "start": _start,
    "huge": _huge,
    "reclaim": _reclaim,
    "events": _events,
    "first": _first,
    "shapes": _shapes,
    "limit": _limit,
}

if __name__ == "__main__":
    sys.exit(main())

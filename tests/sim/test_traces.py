"""Traces: each public format becomes the jobs that its publishers mean, and a mistake names its row."""

import gzip
from pathlib import Path

import pytest

from phalanx.sim.traces.draw import Draw, draw
from phalanx.sim.traces.formats import format_of
from phalanx.sim.traces.job import Job
from phalanx.sim.traces.nodes import nodes_of
from phalanx.sim.traces.read import TraceWish, read_trace
from phalanx.sim.traces.rows import TOLD_MAX, TraceError, open_rows

OPENB = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
openb-pod-0000,12000,16384,1,1000,,LS,Running,100,400,100
openb-pod-0001,6000,12288,1,460,V100M16|V100M32|V100M32,LS,Running,50,90,50
openb-pod-0002,500,1024,0,0,,LS,Running,60,,
"""
PHILLY = """\
timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:01:55,66.0,1,66.0,11cb48
2017-10-09 06:13:03,2951.0,20,59020.0,6214e9
"""
KALOS = """\
job_id,arrival_time,num_iteration,iteration_computing_time,iteration_networking_time,gpu_workers,ps,gpu_per_worker,cpu_per_gpu_worker
0,5.0,200,0.5,0.25,8,0,8.0,15.0
"""
PLAIN = """\
arrival,runtime,members,cpu,memory,gpus,models,queue,user,priority,name
2026-11-01 12:00:00,3600,4,8,64Gi,8,H100|A100,team-a,ann,5,llama
2026-11-01 11:59:00,,,500m,1Gi,0.5,,,,,half
"""


def jobs(tmp_path: Path, text: str | bytes) -> list[Job]:
    file = tmp_path / "trace.csv"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    rows = open_rows(str(file))
    return format_of(rows).read(rows)


def test_a_pod_of_openb_takes_whole_gpus_or_a_part_of_one_and_its_models_count_once(tmp_path: Path) -> None:
    assert jobs(tmp_path, OPENB) == [
        Job("openb-pod-0000", 100.0, 300.0, cpu=12000, memory=16384, gpus=1),
        Job("openb-pod-0001", 50.0, 40.0, cpu=6000, memory=12288, gpus=1, part=460, models=("V100M16", "V100M32")),
        Job("openb-pod-0002", 60.0, None, cpu=500, memory=1024),
    ]


def test_a_job_of_philly_beyond_one_host_is_a_gang_of_hosts(tmp_path: Path) -> None:
    one, twenty = jobs(tmp_path, PHILLY)
    assert (one.members, one.gpus, one.queue, one.runtime) == (1, 1, "11cb48", 66.0)
    assert (twenty.members, twenty.gpus, twenty.queue) == (3, 8, "6214e9")
    assert one.arrival - twenty.arrival == 2932.0


def test_a_job_of_kalos_runs_its_iterations(tmp_path: Path) -> None:
    assert jobs(tmp_path, KALOS) == [Job("job-2", 5.0, 150.0, members=8, cpu=15000, gpus=8, communication=1 / 3)]


def test_our_own_form_says_what_is_known_and_leaves_out_the_rest(tmp_path: Path) -> None:
    llama, half = jobs(tmp_path, PLAIN)
    assert llama == Job(
        "llama", half.arrival + 60, 3600.0, 4, 8000, 65536, 8, 1000, ("H100", "A100"), "team-a", "ann", 5
    )
    assert (half.members, half.cpu, half.memory, half.gpus, half.part, half.runtime) == (1, 500, 1024, 1, 500, None)


def test_a_trace_may_be_packed_with_gzip(tmp_path: Path) -> None:
    assert jobs(tmp_path, gzip.compress(PHILLY.encode(), mtime=0)) == jobs(tmp_path, PHILLY)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "trace.csv: found an empty file"),
        ("a,b\n1,2\n", "trace.csv:1: found columns of no format that is known"),
        (PLAIN.replace("gpus", "gpu"), "trace.csv:1: column 'gpu': unknown"),
        ("arrival,gpus\n0,3.5\n", "trace.csv:2: gpus: found '3.5', allowed is a whole number, or a part below 1"),
        ("arrival,gpus\n-5,1\n", "trace.csv:2: arrival: found '-5', allowed is a number of seconds from 0 on"),
        ("arrival,runtime\n0,nan\n", "trace.csv:2: runtime: found 'nan', allowed is a number from 0 on"),
        ("arrival,members\n0,0\n", "trace.csv:2: members: found '0', allowed is a whole number from 1 on"),
        ("arrival,cpu\n0,many\n", "trace.csv:2: cpu: found 'many', allowed is a Kubernetes quantity"),
        ("arrival,gpus\n0,1,2\n", "trace.csv:2: found 3 cells, allowed are 2 as in row 1"),
        ("arrival,name\n0,a\n1,a\n", "trace.csv:3: name: found 'a', which row 2 has"),
        (OPENB.replace(",460,", ",1460,"), "trace.csv:3: gpu_milli: found 1460, allowed is a whole number from"),
        (OPENB.replace(",400,", ",40,"), "trace.csv:2: deletion_time: found '40', allowed is creation_time or later"),
        (OPENB.replace("num_gpu", "gpus"), "trace.csv:1: found columns of no format that is known"),
        (PHILLY.replace(",1,", ",1.5,"), "trace.csv:2: num_gpus: found '1.5', allowed is a whole number from 1 on"),
        (PHILLY.replace("2017-10-09 07", "yesterday"), "trace.csv:2: timestamp: found 'yesterday:01:55'"),
        (b"\xff\xfe\x00", "trace.csv: not UTF-8 text"),
        (gzip.compress(PHILLY.encode(), mtime=0)[:40], "trace.csv: compressed file ended before"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_row_and_what_is_allowed(tmp_path: Path, text: str | bytes, line: str) -> None:
    with pytest.raises(TraceError) as raised:
        jobs(tmp_path, text)
    assert line in str(raised.value)
    assert "\n" not in str(raised.value)


def test_of_very_many_mistakes_some_are_told_and_the_rest_are_counted(tmp_path: Path) -> None:
    with pytest.raises(TraceError) as raised:
        jobs(tmp_path, "arrival,gpus\n" + "0,3.5\n" * 50)
    lines = str(raised.value).splitlines()
    assert len(lines) == TOLD_MAX + 1
    assert lines[-1].endswith("trace.csv: 30 more rows with mistakes")


def test_nodes_are_counted_or_listed(tmp_path: Path) -> None:
    assert [(node.name, node.amounts["nvidia.com/gpu"], node.gpu_model) for node in nodes_of("2x8:V100")] == [
        ("n0", "8", "V100"), ("n1", "8", "V100"),
    ]  # fmt: skip
    file = tmp_path / "nodes.csv"
    file.write_text("name,gpus,rack,count\nh,4,r1,2\n")
    assert [(node.name, dict(node.label)) for node in nodes_of(str(file))] == [
        ("h-0", {"topology.kubernetes.io/rack": "r1"}), ("h-1", {"topology.kubernetes.io/rack": "r1"}),
    ]  # fmt: skip
    file.write_text("name,gpus\nh,4\nh,4\n")
    with pytest.raises(TraceError, match="found two nodes called h, allowed is one of a name"):
        nodes_of(str(file))


JOBS = [Job(f"j{at}", 1000.0 + 10 * at, 100.0, gpus=1) for at in range(10)]


def test_a_window_begins_at_zero_and_a_load_moves_arrivals() -> None:
    window = draw(JOBS, Draw(window=(20, 50)), 0, 1000)
    assert [(job.name, job.arrival) for job in window] == [("j2", 0), ("j3", 10), ("j4", 20)]
    # Ten jobs of 100 GPU-seconds over one GPU: 1,000 seconds of work within 500.
    assert draw(JOBS, Draw(load=2.0), 0, 1000)[-1].arrival == 500.0


def test_the_same_seed_draws_the_same_and_another_another() -> None:
    drawn = [draw(JOBS, Draw(sample=0.5, shuffle=True), seed, 1000) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert [job.arrival for job in drawn[0]] == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_inflation_draws_jobs_again_until_they_ask_for_so_many_times_the_gpus() -> None:
    found = draw(JOBS, Draw(inflate=1.3), 0, 20_000)
    assert sum(job.milli for job in found) == 26_000
    assert {job.name for job in found[:10]} == {job.name for job in JOBS}
    assert len({job.name for job in found}) == len(found)


def test_the_public_traces_read_whole() -> None:
    data = Path(__file__).parents[2].parent / "shared" / "data"
    if not data.is_dir():
        pytest.skip("no ../shared/data: the public traces are not there")
    read = {name: read_trace(TraceWish(name, data=data)) for name in ("openb", "openb:multigpu30", "philly", "kalos")}
    assert {name: len(trace.jobs) for name, trace in read.items()} == {
        "openb": 8152, "openb:multigpu30": 8508, "philly": 82_247, "kalos": 319,
    }  # fmt: skip
    assert (len(read["openb"].nodes), read["openb"].milli) == (1213, 6_212_000)
    assert sum(job.milli for job in read["openb"].jobs) == 6_086_800
    assert max(job.members * job.gpus for job in read["kalos"].jobs) == 1024

"""The public traces that have a name: which files of a folder they are, and what they run on."""

from dataclasses import dataclass
from pathlib import Path

from phalanx.sim.traces.rows import TraceError


@dataclass(frozen=True, slots=True)
class Public:
    """One trace: files below the folder, the first that is there counts; and nodes, a file below it or `80x8`."""

    files: tuple[str, ...]
    nodes: str


#: 64x8 keeps Philly's jobs waiting a little (load 0.9); Kalos had 302 hosts, `docs/traces.md` says why they are these.
PUBLIC = {
    "openb": Public(("openb/openb_pod_list_{part}.csv", "openb_pod_list_{part}.csv"), "openb_node_list_gpu_node.csv"),
    "philly": Public(("philly/philly.csv.gz", "philly.csv.gz", "philly/philly.csv", "philly.csv"), "64x8"),
    "kalos": Public(("acme/converted_kalos_trace.csv", "converted_kalos_trace.csv"), "302x8"),
}


def files_of(name: str, folder: Path) -> tuple[str, str] | None:
    """Return the file of jobs and the nodes of a public trace such as `openb` or `openb:cpu200`; None: it is none."""
    known, _, part = name.partition(":")
    if known not in PUBLIC or (part and known != "openb"):
        return None
    public = PUBLIC[known]
    for file in public.files:
        path = folder / file.format(part=part or "default")
        if path.is_file():
            beside = path.parent / public.nodes
            return str(path), str(beside) if public.nodes.endswith(".csv") else public.nodes
    allowed = public.files[0].format(part=part or "default")
    raise TraceError(f"--trace {name}: found no file {allowed} in {folder}; --data names the folder of public traces")

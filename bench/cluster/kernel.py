"""What the kernel says of a process: the time it worked and the memory it took."""

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(pid: int) -> float:
    """Return the seconds of work of a process since its start, all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def memory(pid: int) -> int:
    """Return the bytes that a process holds now."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE


def peak_memory(pid: int) -> int:
    """Return the most bytes that a process has held at any time."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"the kernel does not tell the peak memory of process {pid}")

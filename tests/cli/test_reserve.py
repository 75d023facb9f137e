"""`phalanx reserve` says which GPU a pod was given: by NVIDIA's library where there is one, and says so where not."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

#: NVML with so many GPUs: as much of it as is asked.
_NVML = """
#include <stdio.h>
int nvmlInit_v2(void) { return FAILS; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = GPUS; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    *device = (void *)(unsigned long)(index + 1); return 0;
}
int nvmlDeviceGetUUID(void *device, char *text, unsigned length) {
    snprintf(text, length, "GPU-%lu", (unsigned long)device); return 0;
}
"""


def nvml(folder: Path, gpus: int, fails: int = 0) -> str:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler to make a pretend NVML with: install gcc")
    source, library = folder / "nvml.c", folder / f"libnvml-{gpus}-{fails}.so"
    source.write_text(_NVML)
    subprocess.run(
        [compiler, "-shared", "-fPIC", f"-DGPUS={gpus}", f"-DFAILS={fails}", "-o", str(library), str(source)],
        check=True,
    )
    return str(library)


def reserve(folder: Path, library: str, visible: str = "") -> dict[str, Any]:
    said = folder / "termination-log"
    command = [sys.executable, "-m", "phalanx", "reserve", "--once", f"--to={said}", f"--library={library}"]
    done = subprocess.run(command, env={"NVIDIA_VISIBLE_DEVICES": visible}, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(said.read_text())
    assert json.loads(done.stdout) == found
    return found


def test_the_only_gpu_that_can_be_seen_is_the_one(tmp_path: Path) -> None:
    assert reserve(tmp_path, nvml(tmp_path, 1)) == {"ids": ["GPU-1"], "why": "NVML"}
    # Device plugins may hide what they gave.
    assert reserve(tmp_path, nvml(tmp_path, 1), "void")["ids"] == ["GPU-1"]


def test_of_several_that_can_be_seen_the_device_plugin_says_which(tmp_path: Path) -> None:
    assert reserve(tmp_path, nvml(tmp_path, 8), "GPU-3")["ids"] == ["GPU-3"]
    assert reserve(tmp_path, nvml(tmp_path, 8), "all") == {
        "ids": [],
        "why": "NVML shows 8 GPUs, and NVIDIA_VISIBLE_DEVICES is all: which one was given to this pod is not known",
    }


def test_a_slice_is_named_by_the_device_plugin(tmp_path: Path) -> None:
    assert reserve(tmp_path, nvml(tmp_path, 1), "MIG-5c87")["ids"] == ["MIG-5c87"]


def test_where_there_is_no_nvml_it_says_so(tmp_path: Path) -> None:
    found = reserve(tmp_path, "libnot-there.so.1", "GPU-3")
    assert found["ids"] == ["GPU-3"]
    assert found["why"].startswith("no NVML (libnot-there.so.1: cannot open shared object file")
    assert reserve(tmp_path, "libnot-there.so.1")["why"].endswith("and NVIDIA_VISIBLE_DEVICES is empty")
    assert reserve(tmp_path, nvml(tmp_path, 1, fails=9), "void") == {
        "ids": [], "why": "no NVML (nvmlInit_v2 answered 9), and NVIDIA_VISIBLE_DEVICES is void",
    }  # fmt: skip


def test_it_keeps_its_gpu_until_it_is_told_to_go(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "phalanx", "reserve", f"--library={tmp_path}/none.so"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holding:
        assert holding.stdout is not None
        assert json.loads(holding.stdout.readline())["ids"] == []
        assert holding.poll() is None
        holding.send_signal(signal.SIGTERM)
        assert holding.wait(timeout=60) == 0


def test_where_it_cannot_say_it_one_line_tells_why(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "phalanx", "reserve", "--once", f"--to={tmp_path}/no/where"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        f"phalanx: --to {tmp_path}/no/where: cannot be written: no such file or directory\n",
    )

"""`phalanx run` binds soon after it was started: what it may load for that is held here, since times are not."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from phalanx.kube import start
from phalanx.kube.client import Client, Reply, Unanswered
from phalanx.kube.start import AHEAD_MAX, FIRST

#: The engine, and what takes as long to load.
HEAVY = {"numpy", "phalanx.loop", "phalanx.engine", "phalanx.world", "phalanx.dialects", "prometheus_client"}
#: What a scheduler never needs, or not before its first binds.
NEVER = {
    "aiohttp", "cryptography", "difflib", "email", "http.client", "importlib.metadata", "importlib.resources",
    "kubernetes", "phalanx.kube.local", "phalanx.kube.metrics_page", "phalanx.kube.usage_source", "phalanx.sim",
    "phalanx.testing", "prometheus_client", "requests", "rich", "tempfile", "urllib.request",
}  # fmt: skip

_KUBECONFIG = """
clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]
users: [{name: u, user: {}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""
#: Tells what is loaded when the server is first asked, and what is when the scheduler begins to work.
_CODE = """
import asyncio, json, os, sys
from phalanx.cli.main import main
from phalanx.kube.client import Client

def ahead(self, path, query):
    asked.append((path, sorted(sys.modules)))
    return asyncio.get_running_loop().create_future()

def work(self):
    print(json.dumps([asked, sorted(sys.modules)]), flush=True)
    os._exit(0)

asked = []
Client.ahead = ahead
import phalanx.kube.start as start
load = start._load

def loaded():
    process = load()
    from phalanx.kube.scheduler import Scheduler
    Scheduler.run = work
    return process

start._load = loaded
main(["run", "--kubeconfig", sys.argv[1], "--port", "0"])
"""


def test_the_server_is_asked_before_the_engine_is_loaded_and_nothing_is_that_is_not_needed(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(_KUBECONFIG)
    plain = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        [sys.executable, "-c", _CODE, str(kubeconfig)], env=plain, capture_output=True, text=True, check=True
    )
    asked, working = json.loads(done.stdout)
    assert [path for path, _ in asked] == list(FIRST)
    assert all(not HEAVY & set(loaded) for _, loaded in asked)
    assert NEVER & set(working) == set()
    assert set(working) >= HEAVY - NEVER, "this list is out of date"


def test_a_first_decision_loads_no_part_of_numpy_that_it_does_not_need() -> None:
    code = "import sys; from phalanx.cli.main import main; main(['plan', '-f', 'examples/deadlock/complete'])"
    code += "; print('numpy' in sys.modules, 'numpy.ma' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "True False"


class Server(Client):
    """Serves lists of so many pages, or breaks off at one."""

    def __init__(self, pages: int, broken: int | None = None) -> None:
        self.asked: list[str] = []
        self._pages, self._broken = pages, broken

    def ahead(self, path: str, query: Mapping[str, str]) -> asyncio.Task[Reply]:
        number = int(query.get("continue", "1"))
        self.asked.append(f"{path.rpartition('/')[2]} {number}")
        return asyncio.create_task(self._answer(number))

    async def _answer(self, number: int) -> Reply:
        if number == self._broken:
            raise Unanswered("away")
        following = str(number + 1) if number < self._pages else ""
        return Reply(200, json.dumps({"metadata": {"continue": following}, "items": [{}]}).encode(), {})


@pytest.mark.parametrize(
    ("server", "pages"),
    [(Server(1), 1), (Server(3), 3), (Server(5, broken=2), 2), (Server(100), AHEAD_MAX)],
    ids=["one page", "three", "broken off", "very many"],
)
def test_the_first_pages_are_asked_for_while_the_engine_is_loaded(
    server: Server, pages: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_for_all = threading.Event()

    async def story() -> None:
        loading = asyncio.create_task(start._loaded(server))
        for _ in range(100):
            await asyncio.sleep(0)
        asked_for_all.set()
        await loading

    monkeypatch.setattr(start, "_load", asked_for_all.wait)
    asyncio.run(story())
    every = [f"{kind} {number + 1}" for number in range(pages) for kind in ("pods", "nodes")]
    assert sorted(server.asked) == sorted(every)

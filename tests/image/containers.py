"""Containers without a daemon, a registry or a cluster: an image unpacked by buildah, run by crun."""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

#: What a test here needs; all three are Debian packages.
PROGRAMS = ("buildah", "crun", "mmdebstrap")
#: crun refuses a machine that has both versions of control groups mounted; the container gets none of its own here.
CRUN = 'mount -t cgroup2 none /sys/fs/cgroup; exec crun --cgroup-manager=disabled "$@"'


def missing() -> str:
    """Return why images cannot be built and run here; empty where they can."""
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    if lacking:
        return f"{', '.join(lacking)} not installed (apt-get install buildah crun mmdebstrap)"
    if os.geteuid() != 0:
        return "building a base and running a container here need root"
    # Root in a container often is root in name alone.
    may = subprocess.run(
        ["/usr/bin/unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False
    )
    return "" if may.returncode == 0 else "root may not mount here, without which nothing runs in a container"


class Store:
    """A place of our own for images, so that nobody's are touched or taken."""

    def __init__(self, folder: Path) -> None:
        config = folder / "storage.conf"
        config.write_text(f'[storage]\ndriver = "vfs"\nrunroot = "{folder}/run"\ngraphroot = "{folder}/graph"\n')
        self.environment = os.environ | {
            "CONTAINERS_STORAGE_CONF": str(config), "BUILDAH_ISOLATION": "chroot", "ENGINE": "buildah",
        }  # fmt: skip
        self.environment.pop("STORAGE_DRIVER", None)

    def run(self, *command: str) -> str:
        """Run buildah, or what calls it, and return what it prints."""
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
        return done.stdout.strip()

    def config(self, image: str) -> dict[str, Any]:
        """Return what an image says about how it is run."""
        found: dict[str, Any] = json.loads(self.run("buildah", "inspect", "--type", "image", image))["OCIv1"]["config"]
        return found

    def root(self, image: str) -> Path:
        """Return a folder with all files of an image."""
        return Path(self.run("buildah", "mount", self.run("buildah", "from", image)))


class Mirror:
    """A mirror of the package index: it remembers what it was asked for, and sends on to the real one."""

    def __init__(self, real: str) -> None:
        asked: set[str] = set()

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path.removeprefix("/simple/")
                asked.add(name.strip("/"))
                self.send_response(HTTPStatus.FOUND)
                self.send_header("Location", f"{real.rstrip('/')}/{name}")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.asked = asked
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self._server.server_port}/simple"
        Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()


class Container:
    """A running container as the Deployment has it: its user, no capabilities, a root that nobody can write."""

    def __init__(
        self, name: str, image: dict[str, Any], root: Path, folder: Path,
        arguments: Sequence[str], environment: dict[str, str], token: Path,
    ) -> None:  # fmt: skip
        bundle = folder / name
        bundle.mkdir()
        self.name = name
        self.log = folder / f"{name}.log"
        self._state = folder / "crun"
        user, group = (int(number) for number in image["User"].split(":"))
        variables = [*image["Env"], *(f"{key}={value}" for key, value in environment.items())]
        config = {
            "ociVersion": "1.0.2",
            "process": {
                "user": {"uid": user, "gid": group},
                "args": [*image["Entrypoint"], *arguments],
                "env": variables,
                "cwd": "/",
                "capabilities": {kind: [] for kind in ("bounding", "effective", "permitted", "inheritable", "ambient")},
                "noNewPrivileges": True,
            },
            "root": {"path": str(root), "readonly": True},
            "mounts": [
                {"destination": "/proc", "type": "proc", "source": "proc"},
                {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
                {
                    "destination": "/var/run/secrets/kubernetes.io/serviceaccount",
                    "type": "bind", "source": str(token), "options": ["bind", "ro"],
                },
            ],
            # No network of its own: the API server listens on this machine's loopback.
            "linux": {"namespaces": [{"type": kind} for kind in ("pid", "mount", "ipc", "uts")]},
        }  # fmt: skip
        (bundle / "config.json").write_text(json.dumps(config))
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                self._crun("run", "--bundle", str(bundle), name), stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )

    def said(self) -> str:
        """Return all that it has printed."""
        return self.log.read_text()

    def pid(self) -> int:
        """Return the number of its first process, as the machine counts."""
        state = subprocess.run(self._crun("state", self.name), capture_output=True, text=True, check=True)
        number: int = json.loads(state.stdout)["pid"]
        return number

    def stop(self, signal: str = "TERM") -> int:
        """Send a signal as a kubelet does and return the exit status."""
        subprocess.run(self._crun("kill", self.name, signal), check=True)
        return self.process.wait(timeout=60.0)

    def _crun(self, command: str, *arguments: str) -> list[str]:
        return ["unshare", "--mount", "sh", "-ec", CRUN, "crun", "--root", str(self._state), command, *arguments]

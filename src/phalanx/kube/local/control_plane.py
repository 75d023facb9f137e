"""A control plane for as long as a `with` block lasts: etcd, kube-apiserver, and what else is asked for."""

import shutil
import socket
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from phalanx.kube.local import command_lines
from phalanx.kube.local.binaries import binaries
from phalanx.kube.local.certificates import Authority, write_service_account_keys
from phalanx.kube.local.errors import LocalError
from phalanx.kube.local.folders import kept_folder, temporary_folder
from phalanx.kube.local.kubeconfig import write_kubeconfig
from phalanx.kube.local.processes import Processes
from phalanx.kube.local.readiness import wait_until_ready
from phalanx.kube.local.versions import wanted


@dataclass
class ControlPlane:
    """What to start, and, inside the `with` block, the handle on what runs.

    Nothing outlives the block or this process, however it ends. Several can run side by side.
    """

    #: 1.35, 1.36 or 1.37; else the environment's K8S, else 1.36.
    version: str = field(default_factory=wanted)
    _: KW_ONLY
    controller_manager: bool = True
    scheduler: bool = False
    #: Pretend kubelets for nodes annotated kwok.x-k8s.io/node=fake.
    kwok: bool = False
    #: A new or empty folder that stays afterwards, with logs and kubeconfigs; None: a private one that goes.
    folder: Path | None = None
    #: A file for the API server's audit log.
    audit: Path | None = None
    #: How many reads, and how many writes, the API server takes at once; None: its default.
    inflight: int | None = None
    #: API Priority and Fairness.
    fairness: bool = True
    #: More flags by process name; they come last and so win.
    flags: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.version = wanted(self.version)

    def __enter__(self) -> Self:
        self._binaries = binaries(self._commands(), self.version)
        with ExitStack() as undo:
            self._folder = temporary_folder() if self.folder is None else kept_folder(self.folder)
            self._processes = Processes(self._folder, removed_at_end=self.folder is None)
            undo.callback(self._processes.close)
            self._port = undo.enter_context(_reserved_port())
            self._authority = Authority()
            self._write_files()
            self._start_all()
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._undo:
            # A crash that nobody saw would otherwise pass for a quiet cluster.
            if error is None:
                self._processes.check()

    @property
    def url(self) -> str:
        """Where the API server listens."""
        return f"https://127.0.0.1:{self._port.getsockname()[1]}"

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig of the administrator."""
        return self._folder / "admin.kubeconfig"

    @property
    def ca(self) -> Path:
        """The certificate of the authority that signed the API server's."""
        return self._folder / "ca.crt"

    @property
    def pids(self) -> dict[str, int]:
        """The processes that run (or are paused), by name."""
        return dict(self._processes.pids)

    def logs(self, name: str) -> str:
        """Return all that a process has written since its first start."""
        return self._processes.log(name)

    def pause(self, name: str) -> None:
        """Stop a process where it stands: connections stay open and nothing answers."""
        self._processes.pause(name)

    def resume(self, name: str) -> None:
        """Let a paused process go on."""
        self._processes.resume(name)

    def kill(self, name: str) -> None:
        """End a process as a crash would."""
        self._processes.kill(name)

    def restart(self, name: str) -> None:
        """Start a process again, killing it first if it runs, and return when the API server is ready again."""
        self._processes.restart(name)
        if name in {"etcd", "kube-apiserver"}:
            self._wait()

    def user(self, name: str, groups: Sequence[str] = ()) -> Path:
        """Return a kubeconfig for a user who may do what RBAC gives to the name and the groups, and no more."""
        users = self._folder / "users"
        users.mkdir(exist_ok=True)
        return self._write_kubeconfig(users / f"{quote(name, safe='')}.kubeconfig", name, groups)

    def kubectl(self, *arguments: str, stdin: str = "", kubeconfig: Path | None = None) -> str:
        """Run kubectl as the administrator, or with another kubeconfig, and return what it prints."""
        self._processes.check()
        # The discovery cache stays in the folder: in the user's home, a port used again would find old answers.
        flags = [f"--kubeconfig={kubeconfig or self.kubeconfig}", f"--cache-dir={self._folder / 'kubectl'}"]
        command = [str(self._binaries["kubectl"]), *flags, *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise LocalError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def _commands(self) -> list[str]:
        optional = {
            "kube-controller-manager": self.controller_manager,
            "kube-scheduler": self.scheduler,
            "kwok": self.kwok,
        }
        return ["etcd", "kube-apiserver", "kubectl", *(name for name, asked in optional.items() if asked)]

    def _write_files(self) -> None:
        self._authority.pair.write(self._folder, "ca")
        self._authority.server().write(self._folder, "server")
        write_service_account_keys(self._folder)
        self._authority.client("admin", ["system:masters"]).write(self._folder, "admin")
        self._write_kubeconfig(self.kubeconfig, "admin", ["system:masters"])
        for name, user, groups in (
            ("kube-controller-manager", "system:kube-controller-manager", []),
            ("kube-scheduler", "system:kube-scheduler", []),
            ("kwok", "kwok", ["system:masters"]),
        ):
            self._write_kubeconfig(self._folder / f"{name}.kubeconfig", user, groups)
        (self._folder / "kube-scheduler.yaml").write_text(command_lines.KUBE_SCHEDULER_CONFIG)
        (self._folder / "audit.yaml").write_text(command_lines.AUDIT_POLICY)
        shutil.copy(Path(__file__).with_name("kwok.yaml"), self._folder)

    def _write_kubeconfig(self, path: Path, user: str, groups: Sequence[str]) -> Path:
        pair = self._authority.client(user, groups)
        return write_kubeconfig(path, self.url, self._authority.pair.certificate, user, pair)

    def _start_all(self) -> None:
        server = command_lines.ServerOptions(
            self.version, self._port.getsockname()[1], self.audit, self.inflight, self.fairness
        )
        self._start("etcd", command_lines.etcd())
        self._start("kube-apiserver", command_lines.kube_apiserver(server))
        self._wait()
        if self.controller_manager:
            manager = command_lines.kube_controller_manager(self.version, heartbeats=self.kwok)
            self._start("kube-controller-manager", manager)
        if self.scheduler:
            self._start("kube-scheduler", command_lines.kube_scheduler(self.version))
        if self.kwok:
            self._start("kwok", command_lines.kwok())

    def _start(self, name: str, flags: Sequence[str]) -> None:
        self._processes.start(name, [str(self._binaries[name]), *flags, *self.flags.get(name, ())])

    def _wait(self) -> None:
        wait_until_ready(self._port.getsockname()[1], self._folder, self._processes.check)


def _reserved_port() -> socket.socket:
    """Take a free port and keep it: a server may share it with us, and nobody else gets it."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    holder.bind(("127.0.0.1", 0))
    return holder

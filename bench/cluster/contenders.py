"""Who is measured: how each is told about gangs, and how it is started. All as the administrator, unthrottled."""

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from phalanx.kube.local import ControlPlane
from phalanx.kube.local.binaries import binaries
from phalanx.kube.local.versions import wanted
from phalanx.testing.objects import Manifest, gang_manifests, pod_manifest

GANG = 8

#: Makes a gang, given its name and size.
Style = Callable[[str, int], list[Manifest]]
#: Returns the command line of each process.
Commands = Callable[[ControlPlane, Path], dict[str, Sequence[str]]]


def nothing(plane: ControlPlane, folder: Path) -> None:
    """Most need nothing but nodes and pods."""


@dataclass(frozen=True, slots=True)
class Contender:
    """One row of a table."""

    name: str
    style: Style
    commands: Commands
    prepare: Callable[[ControlPlane, Path], None] = nothing
    #: Whether it promises to start gangs whole.
    gangs: bool = True
    #: Which one is measured, where that is not the control plane's own or ours.
    version: str = ""

    @property
    def title(self) -> str:
        """Return the name with the version."""
        return f"{self.name} {self.version}".strip()


def python(*words: str) -> list[str]:
    """Return a Python command as an installed one starts: its modules compiled before, not at each start."""
    return ["env", "-u", "PYTHONDONTWRITEBYTECODE", sys.executable, *words]


def native(name: str, size: int) -> list[Manifest]:
    """A gang by annotations."""
    return gang_manifests(name, size)


def pod_group(name: str, size: int, scheduler: str = "default-scheduler") -> list[Manifest]:
    """A gang of Kubernetes' own, as 1.36 has it."""
    group = {
        "apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": size}}},
    }  # fmt: skip
    member = {"podGroupName": name}
    return [
        group,
        *(pod_manifest(f"{name}-{number}", scheduler=scheduler, schedulingGroup=member) for number in range(size)),
    ]


def plain(scheduler: str) -> Style:
    """Pods that know nothing of each other."""
    return lambda name, size: [pod_manifest(f"{name}-{number}", scheduler=scheduler) for number in range(size)]


def _phalanx(plane: ControlPlane, _: Path) -> dict[str, Sequence[str]]:
    words = ("-m", "phalanx", "run", "--kubeconfig", str(plane.kubeconfig), "--no-leader-election", "--port", "0")
    return {"phalanx": python(*words)}


def _null(*wishes: str) -> Commands:
    def commands(plane: ControlPlane, _: Path) -> dict[str, Sequence[str]]:
        return {"null": python(str(Path(__file__).with_name("null_binder.py")), str(plane.kubeconfig), *wishes)}

    return commands


_KUBE_SCHEDULER = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {{kubeconfig: {kubeconfig}, qps: 5000, burst: 5000}}
leaderElection: {{leaderElect: false}}
{profiles}"""
#: With its default arguments this plugin makes every pod look different, so that none is decided with another.
_SIGNABLE = """\
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: PodTopologySpread
    args: {defaultingType: List, defaultConstraints: []}
"""


def _kube_scheduler(gates: str, profiles: str = "") -> Commands:
    def commands(plane: ControlPlane, folder: Path) -> dict[str, Sequence[str]]:
        config = folder / "kube-scheduler.yaml"
        config.write_text(_KUBE_SCHEDULER.format(kubeconfig=plane.kubeconfig, profiles=profiles))
        program = binaries(["kube-scheduler"], wanted())["kube-scheduler"]
        words = [str(program), f"--config={config}", "--secure-port=0"]
        return {"kube-scheduler": [*words, f"--feature-gates={gates}"] if gates else words}

    return commands


NULL = Contender("null binder", plain("null"), _null(), gangs=False)
NULL_WATCHING = Contender("null binder that watches", plain("null"), _null("watch"), gangs=False)
PHALANX = Contender("Phalanx", native, _phalanx)
KUBE = Contender("kube-scheduler", plain("default-scheduler"), _kube_scheduler(""), gangs=False)
KUBE_GANGS = Contender("kube gangs", pod_group, _kube_scheduler("GenericWorkload=true,GangScheduling=true"))

PHALANX_PLAIN = replace(PHALANX, style=plain("phalanx"), gangs=False)
KUBE_BATCHING = replace(KUBE, name="kube batching", commands=_kube_scheduler("OpportunisticBatching=true", _SIGNABLE))
KUBE_NO_BATCHING = replace(
    KUBE, name="kube no batching", commands=_kube_scheduler("OpportunisticBatching=false", _SIGNABLE)
)


def chosen(contenders: Iterable[Contender], only: frozenset[str]) -> list[Contender]:
    """Return the contenders that were asked for."""
    return [each for each in contenders if not only or each.name.lower().replace(" ", "-") in only]

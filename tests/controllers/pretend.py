"""One Job on a pretend API server, in a process that may be killed between any two writes."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any

from phalanx.controllers.volcano import steps
from phalanx.controllers.volcano.decide import decide
from phalanx.controllers.volcano.seen import FAILED, RUNNING, SUCCEEDED, Command, Group, Pod, View
from phalanx.controllers.volcano.status import Status, read_status, written
from phalanx.controllers.volcano.steps import Memory, Note, Step

UID = "5e1f"
START = 1_000_000.0


def task(name: str, replicas: int, **more: Any) -> dict[str, Any]:
    """Return a task of a Job."""
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    return {"name": name, "replicas": replicas, "template": {"spec": {"containers": [container]}}, **more}


def on(action: str, event: str | None = None, **more: Any) -> dict[str, Any]:
    """Return a policy."""
    return {"action": action, **({"event": event} if event else {}), **more}


class Killed(Exception):  # noqa: N818 (what happens)
    """The process ends here."""


@dataclass
class Pretend:
    """The Job and all that belongs to it. `kills`: whether the process is killed before each next write."""

    spec: dict[str, Any]
    kills: Iterator[bool] = field(default_factory=lambda: repeat(False))
    #: A pod that was told to go stays until `collect`.
    lingering: bool = False
    open: bool = True
    lets_in: frozenset[str] = frozenset()
    now: float = START
    pods: dict[str, Pod] = field(default_factory=dict)
    gone: tuple[Pod, ...] = ()
    group: Group | None = None
    commands: dict[str, Command] = field(default_factory=dict)
    objects: dict[tuple[str, str], Any] = field(default_factory=dict)
    status: dict[str, Any] = field(default_factory=dict)
    memory: Memory = field(default_factory=Memory)
    notes: list[Note] = field(default_factory=list)
    phases: list[str] = field(default_factory=list)
    wake: float | None = None
    deleted: bool = False
    meta: dict[str, Any] = field(default_factory=dict)
    _made: int = 0

    @property
    def document(self) -> dict[str, Any]:
        meta = {"name": "j", "namespace": "ml", "uid": UID, "creationTimestamp": "1970-01-12T13:46:40Z", **self.meta}
        return {
            "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": meta, "spec": self.spec,
            "status": self.status,
        }  # fmt: skip

    @property
    def read(self) -> Status:
        return read_status(self.document)

    @property
    def state(self) -> str:
        """Return the phase, the counts and the retries, in a line."""
        said = self.read
        counts = {
            "pending": said.pending, "running": said.running, "succeeded": said.succeeded, "failed": said.failed,
            "terminating": said.terminating,
        }  # fmt: skip
        shown = "".join(f" {word}={count}" for word, count in counts.items() if count)
        return f"{said.phase}{shown}{f' retries={said.retry_count}' if said.retry_count else ''}"

    def rest(self) -> str:
        """Let the controller work until there is nothing to do; return how the Job is then."""
        sure = False
        for _ in range(400):
            view = View(
                self.document, dict(self.pods), self.group, tuple(self.commands.values()), {}, self.gone, self.lets_in
            )
            step = decide(view, self.memory, self.now, sure=sure)
            sure = step.look
            if step.look:
                continue
            try:
                self._carry_out(step)
            except Killed:
                # Whoever begins anew knows what the server has, and nothing else.
                self.memory, self.gone, sure = Memory(), (), False
                continue
            self.memory, self.wake = step.memory, step.wake
            self.gone = tuple(pod for pod in self.gone if pod in step.keep)
            self.notes += step.notes
            if step.idle or self.deleted:
                return self.state
        raise AssertionError(f"no rest: {step}")

    def _carry_out(self, step: Step) -> None:
        for write in step.writes:
            self._before()
            self._write(write)
        if step.status is not None:
            self._before()
            assert written(step.status) != self.status, "the same status again"
            self.status = written(step.status)
            if self.read.phase != (self.phases or [""])[-1]:
                self.phases.append(self.read.phase)

    def _before(self) -> None:
        if next(self.kills):
            raise Killed

    def _write(self, write: steps.Write) -> None:
        match write:
            case steps.Create():
                self._create(write.object)
            case steps.ChangeGroup():
                assert self.group is not None
                spec = {**self.group.spec, **write.patch.get("spec", {})}
                spec = {key: value for key, value in spec.items() if value is not None}
                phase = write.patch.get("status", {}).get("phase", self.group.phase)
                self.group = replace(self.group, spec=spec, phase=phase)
            case steps.DeletePod():
                self._leave(write.pod, marked=write.mark or write.pod.marked)
            case steps.DeleteGroup():
                self.group = None
            case steps.Discard():
                self.objects.pop((write.object["kind"], write.object["metadata"]["name"]), None)
            case steps.DeleteCommand():
                self.commands.pop(write.command.uid, None)
            case steps.DeleteJob():
                self.deleted = True

    def _create(self, one: dict[str, Any]) -> None:
        kind, meta = one["kind"], one["metadata"]
        assert meta["ownerReferences"][0]["uid"] == UID
        if kind == "PodGroup":
            assert self.group is None
            self.group = Group(meta["name"], f"g{self._made}", "Inqueue" if self.open else "", one["spec"])
        elif kind != "Pod":
            self.objects[kind, meta["name"]] = one.get("data") or one.get("spec")
        elif meta["name"] not in self.pods:
            assert self.group is not None
            assert self.group.admitted
            said = meta["annotations"]
            self.pods[meta["name"]] = Pod(
                meta["name"], said["volcano.sh/task-spec"], int(said["volcano.sh/task-index"]),
                int(said["volcano.sh/job-version"]), int(said["volcano.sh/job-retry-count"]), f"p{self._made}",
                meta["labels"].get("volcano.sh/partition-id"), created=self.now, ready=False,
            )  # fmt: skip
        self._made += 1

    def _leave(self, pod: Pod, *, marked: bool = False) -> None:
        there = self.pods.get(pod.name)
        if there is None or there.uid != pod.uid:
            return
        self.pods[pod.name] = replace(there, leaving=True, marked=marked)
        if not self.lingering:
            self.collect()

    def collect(self) -> None:
        """Let those go that were told to."""
        for name, pod in list(self.pods.items()):
            if pod.leaving:
                del self.pods[name]
                self.gone = (*self.gone, pod)

    def let_in(self) -> None:
        """Let the group in."""
        assert self.group is not None
        self.open, self.group = True, replace(self.group, phase="Inqueue")

    def run(self, *names: str) -> None:
        """Let pods run."""
        self._become(names, phase=RUNNING, ready=True)

    def succeed(self, *names: str) -> None:
        """Let pods end well."""
        self._become(names, phase=SUCCEEDED, exit_code=0, ended=self.now)

    def fail(self, *names: str, code: int = 1) -> None:
        """Let pods end badly."""
        self._become(names, phase=FAILED, exit_code=code, ended=self.now)

    def crash(self, name: str, times: int) -> None:
        """Let the containers of a pod have been started anew so often."""
        self._become((name,), restarts=times)

    def _become(self, names: tuple[str, ...], **fields: Any) -> None:
        for name, pod in self.pods.items():
            short = name.removeprefix("j-")
            if (not names or short in names or pod.task in names) and not pod.finished and not pod.leaving:
                self.pods[name] = replace(pod, **fields)

    def evict(self, short: str) -> None:
        """Somebody else takes a pod away."""
        if f"j-{short}" in self.pods:
            self._leave(self.pods[f"j-{short}"])

    def command(self, action: str, number: int = 0) -> None:
        """Somebody asks for an action."""
        self.commands[f"c{number}-{action}"] = Command(f"{action.lower()}-{number}", f"c{number}-{action}", action)

    def versions(self) -> str:
        """Return the pods with their version and retries: `worker-0:1/1`."""
        return " ".join(
            f"{name.removeprefix('j-')}:{pod.version}/{pod.retries}" for name, pod in sorted(self.pods.items())
        )

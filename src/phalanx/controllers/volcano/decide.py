"""The next step of a Job, given all that belongs to it: a pure function of what is seen and of the time.

What is to be done is written into the status before anything is taken away, and everything else follows from how things
are: whoever looks next, this process or another one, goes on where the last one was cut off.
"""

from dataclasses import replace as renewed

from msgspec.structs import replace

from phalanx.controllers.volcano import making
from phalanx.controllers.volcano.causes import answered, causes, vanished
from phalanx.controllers.volcano.phases import STOPPING, Now, act, from_pods, from_restart
from phalanx.controllers.volcano.seen import PENDING, RUNNING, View, time_of
from phalanx.controllers.volcano.status import OVER, RESTARTING, TARGETED, Status, read_status
from phalanx.controllers.volcano.steps import DeleteCommand, DeleteGroup, DeleteJob, Memory, Note, Step, Write
from phalanx.dialects.mistakes import FieldError
from phalanx.dialects.volcano import job_objects as api
from phalanx.dialects.volcano.job_rules import complete
from phalanx.dialects.volcano.jobs import Expansion, read_job

REFUSED = "Refused"
EXECUTE, ISSUED, GROUP_PENDING = "ExecuteAction", "CommandIssued", "PodGroupPending"


def decide(view: View, memory: Memory, time: float, *, sure: bool = False) -> Step:
    """Return the next step. `sure`: the pods were just read from the server."""
    meta = view.document["metadata"]
    if meta.get("deletionTimestamp"):
        return Step(memory)
    if memory.fresh:
        # Who went before we began was perhaps answered by somebody else: the status tells.
        view = renewed(view, gone=())
    status = read_status(view.document)
    created = time_of(meta.get("creationTimestamp")) or time
    try:
        job = read_job(view.document)
        spec = complete(job)
    except FieldError as mistake:
        return _refused(view, memory, status, mistake)
    if status.state.reason == REFUSED:
        status = replace(status, state=replace(status.state, reason="", message=""))
    now = Now(view, spec, status, time, created)
    if not status.state.phase:
        now = now._replace(status=now.phase(status, PENDING))
    return _commanded(now, memory) or _in_phase(now, job, memory, sure=sure)


def _in_phase(now: Now, job: api.Job, memory: Memory, *, sure: bool) -> Step:
    status, phase = now.status, now.status.phase
    made = Expansion(job, now.spec, version=status.version, retries=status.retry_count)
    if phase in {PENDING, RUNNING}:
        return _alive(now, made, memory, sure=sure)
    memory = renewed(memory, fresh=False, since={}, table=memory.table if _in_part(status) else None)
    if phase == RESTARTING:
        return _restarting(now, made, memory)
    if phase in STOPPING:
        return _cleared(now, made, memory, STOPPING[phase])
    return _cleared(now, made, memory, None)


def _refused(view: View, memory: Memory, status: Status, mistake: FieldError) -> Step:
    """Say it once, on the Job; whatever runs goes on."""
    state = replace(status.state, phase=status.phase, reason=REFUSED, message=str(mistake))
    memory = renewed(memory, fresh=False)
    if status.state == state:
        return Step(memory, keep=view.gone)
    return Step(memory, status=replace(status, state=state), notes=(Note(REFUSED, str(mistake), True),), keep=view.gone)


def _commanded(now: Now, memory: Memory) -> Step | None:
    """Return the step that a command asks for, the oldest first; None: there is none to carry out now."""
    for command in sorted(now.view.commands, key=lambda one: (one.created, one.name)):
        if command.uid in now.status.state.message:
            return Step(memory, (DeleteCommand(command),), keep=now.view.gone)
        if now.status.phase == RESTARTING:
            # Its time comes when the restart is through.
            return None
        status = act(now, command.action, f"command {command.name} {command.uid}")
        text = f"{command.action}, as command {command.name} says"
        if status is None:
            text += f": nothing to do in phase {now.status.phase}"
            return Step(memory, (DeleteCommand(command),), notes=(Note(ISSUED, text),), keep=now.view.gone)
        return Step(memory, status=status, notes=(Note(ISSUED, text), Note(EXECUTE, command.action)))
    return None


def _alive(now: Now, made: Expansion, memory: Memory, *, sure: bool) -> Step:
    """Let a policy answer what has happened; else make what is missing, and count."""
    view, spec, status = now.view, now.spec, now.status
    missing = vanished(view, spec, status) if memory.fresh else []
    if missing and not sure:
        return Step(memory, look=True, keep=view.gone)
    since: dict[str, float] = {}
    keep, wake = [], None
    for cause, policy, due in answered(causes(view, spec, status, missing), spec, memory.since, now.time):
        if due <= now.time:
            fresh = act(now, str(policy.action), str(cause), cause.pod)
            if fresh is not None:
                return Step(renewed(memory, fresh=False, since={}), status=fresh, notes=(_told(policy, str(cause)),))
            continue
        wake = due if wake is None else min(wake, due)
        if cause.since is None:
            since[cause.key] = memory.since.get(cause.key, now.time)
        keep += [pod for pod in view.gone if pod is cause.pod]
    memory = renewed(memory, fresh=False, since=since)
    return renewed(_synced(now, made, memory), wake=wake, keep=tuple(keep))


def _told(policy: api.Policy, cause: str) -> Note:
    after = f", {policy.timeout} after" if policy.timeout else ", because of"
    return Note(EXECUTE, f"{policy.action}{after} {cause}")


def _synced(now: Now, made: Expansion, memory: Memory) -> Step:
    writes, status, table = making.objects(made, now.status, memory.table)
    if writes or status.controlled_resources != now.status.controlled_resources:
        return Step(renewed(memory, table=table), tuple(writes), _unless_written(now, now.recounted(status)))
    writes = making.group(now.view, made)
    if writes:
        return Step(memory, tuple(writes), _unless_written(now, now.recounted(status)))
    memory, notes = _group_told(now, memory)
    writes = making.deletions(making.going(now.view, now.spec, status), status)
    if now.view.group is not None and now.view.group.admitted:
        writes += making.pods(now.view, made)
    if writes:
        return Step(memory, tuple(writes), notes=notes)
    status = from_pods(now, now.recounted(status))
    return Step(memory, status=_unless_written(now, status), notes=notes)


def _restarting(now: Now, made: Expansion, memory: Memory) -> Step:
    gone = making.going(now.view, now.spec, now.status)
    if gone:
        return Step(memory, tuple(making.deletions(gone, now.status)))
    if not _in_part(now.status):
        writes, status = _without_rest(now, made)
        if writes or status.controlled_resources != now.status.controlled_resources:
            return Step(memory, tuple(writes), _unless_written(now, now.recounted(status)))
    return Step(memory, status=_unless_written(now, from_restart(now, now.recounted(now.status))))


def _cleared(now: Now, made: Expansion, memory: Memory, following: str | None) -> Step:
    """Take away what is left. `following`: the phase once nothing is; None: it is the last one."""
    gone = making.going(now.view, now.spec, now.status)
    rest, status = _without_rest(now, made)
    status = now.recounted(status)
    writes = (*making.deletions(gone, now.status), *rest)
    if writes:
        return Step(memory, writes, _unless_written(now, status))
    if following is None:
        return _after(now, memory, _unless_written(now, status))
    if not (status.terminating or status.pending or status.running):
        status = now.phase(status, following, status.state.reason, status.state.message)
    return Step(memory, status=_unless_written(now, status))


def _after(now: Now, memory: Memory, status: Status | None) -> Step:
    """Let a Job that has ended go once its time is over."""
    keeps, ended = now.spec.ttl_seconds_after_finished, time_of(now.status.state.last_transition_time)
    if keeps is None or ended is None or now.status.phase not in OVER:
        return Step(memory, status=status)
    if status is None and ended + keeps <= now.time:
        return Step(memory, (DeleteJob(),))
    return Step(memory, status=status, wake=ended + keeps)


def _without_rest(now: Now, made: Expansion) -> tuple[list[Write], Status]:
    writes, status = making.leftovers(made, now.status)
    if now.view.group is not None:
        writes.append(DeleteGroup(now.view.group))
    return writes, status


def _group_told(now: Now, memory: Memory) -> tuple[Memory, tuple[Note, ...]]:
    """Tell once why the group waits."""
    said = now.view.group.condition if now.view.group is not None else None
    if said is None or said[0] == "Scheduled" or said == memory.told:
        return memory, ()
    return renewed(memory, told=said), (Note(GROUP_PENDING, f"{said[0]}: {said[1]}", True),)


def _in_part(status: Status) -> bool:
    """Tell whether a restart of a part is under way: the rest of the Job goes on."""
    return status.phase == RESTARTING and status.state.reason in TARGETED


def _unless_written(now: Now, status: Status) -> Status | None:
    return None if status == read_status(now.view.document) else status

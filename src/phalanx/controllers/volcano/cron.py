"""The next step of a CronJob, given its Jobs: a pure function.

Which Jobs are active and when the last one was due follows from the Jobs, whose names follow from the time: who was
killed between making a Job and saying so says so later, and makes none twice.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from phalanx.controllers.volcano.schedule import Schedule, ScheduleError, parse, rfc3339
from phalanx.controllers.volcano.seen import time_of
from phalanx.controllers.volcano.status import COMPLETED, OVER, stamp
from phalanx.controllers.volcano.steps import Note, Object
from phalanx.dialects.mistakes import UNREADABLE, FieldError, of_wrong_type, one_of
from phalanx.dialects.volcano.jobs import GROUP as BATCH

SCHEDULED = "volcano.sh/cronjob-scheduled-timestamp"
_VERSION = f"{BATCH}/v1alpha1"
_POLICIES = ("Allow", "Forbid", "Replace")
_Count = Annotated[int, Meta(ge=0)]


class _Template(Struct):
    spec: dict[str, Any]
    metadata: dict[str, Any] | None = None


class _Spec(Struct, rename="camel"):
    schedule: str
    job_template: _Template
    time_zone: str | None = None
    starting_deadline_seconds: _Count | None = None
    concurrency_policy: str = "Allow"
    suspend: bool | None = None
    successful_jobs_history_limit: _Count | None = 3
    failed_jobs_history_limit: _Count | None = 1


class _Cron(Struct):
    metadata: dict[str, Any]
    spec: _Spec


@dataclass(frozen=True, slots=True)
class CronStep:
    """Jobs to delete, a Job to make, then the status."""

    delete: tuple[Mapping[str, Any], ...] = ()
    create: Object | None = None
    status: Object | None = None
    notes: tuple[Note, ...] = ()
    wake: float | None = None


def owner_of(job: Mapping[str, Any]) -> str | None:
    """Return the uid of the CronJob that controls a Job."""
    owners = job["metadata"].get("ownerReferences") or ()
    return next((one["uid"] for one in owners if one.get("controller") and one.get("kind") == "CronJob"), None)


def decide(document: Mapping[str, Any], jobs: Iterable[Mapping[str, Any]], now: float) -> CronStep:
    """Return the next step. `jobs`: those that it controls."""
    try:
        return CronStep() if document["metadata"].get("deletionTimestamp") else _decided(document, jobs, now)
    except FieldError as mistake:
        return CronStep(notes=(Note("Refused", str(mistake), True),))


def _decided(document: Mapping[str, Any], jobs: Iterable[Mapping[str, Any]], now: float) -> CronStep:
    own = sorted(jobs, key=lambda job: (job["metadata"].get("creationTimestamp") or "", job["metadata"]["name"]))
    try:
        cron = msgspec.convert(document, _Cron)
    except UNREADABLE as error:
        raise FieldError(*of_wrong_type(str(error), document, _Cron)) from None
    spec = cron.spec
    if spec.concurrency_policy not in _POLICIES:
        raise FieldError("spec.concurrencyPolicy", one_of(spec.concurrency_policy, _POLICIES))
    status = _status(document, own)
    if status != (document.get("status") or {}):
        return CronStep(status=status)
    old = _too_many(spec, own)
    if old:
        names = ", ".join(job["metadata"]["name"] for job in old)
        return CronStep(delete=tuple(old), notes=(Note("SuccessfulDelete", f"deleted as history: {names}"),))
    if spec.suspend:
        return CronStep()
    try:
        schedule = parse(spec.schedule, spec.time_zone)
    except ScheduleError as error:
        raise FieldError("spec.schedule", str(error)) from None
    return _due(cron, own, status, schedule, now)


def _due(cron: _Cron, own: list[Mapping[str, Any]], status: Object, schedule: Schedule, now: float) -> CronStep:
    spec, meta = cron.spec, cron.metadata
    following = schedule.after(now)
    since = time_of(status.get("lastScheduleTime")) or time_of(meta.get("creationTimestamp")) or now
    if spec.starting_deadline_seconds is not None:
        since = max(since, now - spec.starting_deadline_seconds)
    at = schedule.last(since, now)
    if at is None:
        return CronStep(wake=following)
    active = [job for job in own if _phase(job) not in OVER and not job["metadata"].get("deletionTimestamp")]
    if active and spec.concurrency_policy == "Forbid":
        text = f"not started at {stamp(at)}: {active[0]['metadata']['name']} is active"
        return CronStep(notes=(Note("ForbidConcurrent", text, True),), wake=following)
    made = _job(cron, at, schedule)
    notes = [Note("SuccessfulCreate", f"created job {made['metadata']['name']}")]
    replaced = tuple(active) if spec.concurrency_policy == "Replace" else ()
    if replaced:
        notes.insert(0, Note("ReplaceConcurrent", f"replaced {active[0]['metadata']['name']}", True))
    return CronStep(replaced, made, notes=tuple(notes), wake=following)


def _job(cron: _Cron, at: float, schedule: Schedule) -> Object:
    meta, template = cron.metadata, cron.spec.job_template
    given = template.metadata or {}
    owner = {
        "apiVersion": _VERSION, "kind": "CronJob", "name": meta["name"], "uid": meta["uid"], "controller": True,
        "blockOwnerDeletion": True,
    }  # fmt: skip
    annotations = {**(given.get("annotations") or {}), SCHEDULED: rfc3339(at, schedule.zone)}
    return {
        "apiVersion": _VERSION, "kind": "Job", "spec": template.spec,
        "metadata": {
            "name": f"{meta['name']}-{int(at) // 60}", "namespace": meta["namespace"],
            "labels": given.get("labels") or {}, "annotations": annotations, "ownerReferences": [owner],
        },
    }  # fmt: skip


def _status(document: Mapping[str, Any], own: list[Mapping[str, Any]]) -> Object:
    found: Object = dict(document.get("status") or {})
    refs = [_reference(job) for job in own if _phase(job) not in OVER and not job["metadata"].get("deletionTimestamp")]
    found.pop("active", None)
    if refs:
        found["active"] = refs
    due = [time_of((job["metadata"].get("annotations") or {}).get(SCHEDULED)) for job in own]
    well = [
        time_of((job.get("status") or {})["state"].get("lastTransitionTime")) for job in own if _phase(job) == COMPLETED
    ]
    for key, times in (("lastScheduleTime", due), ("lastSuccessfulTime", well)):
        latest = max((at for at in times if at is not None), default=None)
        if latest is not None and latest > (time_of(found.get(key)) or 0.0):
            found[key] = stamp(latest)
    return found


def _reference(job: Mapping[str, Any]) -> Object:
    meta = job["metadata"]
    return {
        "apiVersion": _VERSION, "kind": "Job", "name": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"],
    }  # fmt: skip


def _too_many(spec: _Spec, own: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for phase, limit in ((COMPLETED, spec.successful_jobs_history_limit), ("Failed", spec.failed_jobs_history_limit)):
        ended = [job for job in own if _phase(job) == phase and not job["metadata"].get("deletionTimestamp")]
        found += ended[: len(ended) - limit] if limit is not None and len(ended) > limit else []
    return found


def _phase(job: Mapping[str, Any]) -> str:
    return str(((job.get("status") or {}).get("state") or {}).get("phase") or "")

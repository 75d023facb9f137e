"""Volcano's CronJobs: when a Job is due, and what becomes of those before it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from phalanx.controllers.volcano.cron import CronStep, decide
from phalanx.controllers.volcano.schedule import ScheduleError, parse

SPEC: dict[str, Any] = {"tasks": []}


def at(text: str) -> float:
    return datetime.fromisoformat(f"2026-{text}+00:00").timestamp()


def shown(moment: float | None) -> str | None:
    return None if moment is None else f"{datetime.fromtimestamp(moment, UTC):%m-%d %H:%M:%S}"


@pytest.mark.parametrize(
    ("schedule", "zone", "after", "next_"),
    [
        ("*/15 * * * *", None, "11-20 01:07", "11-20 01:15:00"),
        ("0 9-17/4 * * mon-fri", None, "11-20 13:00", "11-20 17:00:00"),
        ("0 9-17/4 * * mon-fri", None, "11-20 17:00", "11-23 09:00:00"),
        ("30 4 1,15 * fri", None, "11-16 00:00", "11-20 04:30:00"),
        ("30 4 1,15 * *", None, "11-16 00:00", "12-01 04:30:00"),
        ("5/20 * * * *", None, "11-20 01:30", "11-20 01:45:00"),
        ("@daily", "Europe/Berlin", "11-20 01:00", "11-20 23:00:00"),
        ("TZ=Asia/Tokyo 0 9 * * *", None, "11-20 01:00", "11-21 00:00:00"),
        # In Berlin there is no half past two on this day.
        ("30 2 29 3 *", "Europe/Berlin", "03-01 00:00", None),
        ("@every 90s", None, "11-20 01:00", "11-20 01:01:30"),
        ("0 0 31 2 *", None, "11-20 01:00", None),
    ],
)
def test_the_next_time_of_a_schedule(schedule: str, zone: str | None, after: str, next_: str | None) -> None:
    found = parse(schedule, zone).after(at(after))
    if "29 3" in schedule:
        assert found is not None
        assert datetime.fromtimestamp(found, UTC).year > 2026
    else:
        assert shown(found) == next_


@pytest.mark.parametrize(
    ("since", "now", "last"),
    [
        ("11-20 01:00", "11-20 01:29:59", "11-20 01:15:00"),
        ("11-20 01:15", "11-20 01:29:59", None),
        ("01-01 00:00", "11-20 01:29:59", "11-20 01:15:00"),
    ],
)
def test_of_all_times_that_were_missed_the_last_one_counts(since: str, now: str, last: str | None) -> None:
    assert shown(parse("*/15 * * * *", None).last(at(since), at(now))) == last
    yearly = parse("0 0 1 2 *", None)
    assert shown(yearly.last(at("01-01 00:00"), at("11-20 01:00"))) == "02-01 00:00:00"


@pytest.mark.parametrize(
    ("schedule", "zone", "line"),
    [
        ("* * * *", None, "found '* * * *', allowed is five fields"),
        ("60 * * * *", None, "minute: found '60', allowed is a number from 0 to 59"),
        ("* * * foo *", None, "month: found 'foo', allowed is a number from 1 to 12"),
        ("* 5-3 * * *", None, "hour: found '5-3', allowed is a range that rises"),
        ("*/0 * * * *", None, "minute: found '0', allowed is a number from 1 to 59"),
        ("@every soon", None, "@every: found 'soon', allowed is a duration"),
        ("* * * * *", "Mars/Base", "found the time zone 'Mars/Base', allowed is one such as"),
    ],
)
def test_a_schedule_that_is_none_is_one_line(schedule: str, zone: str | None, line: str) -> None:
    with pytest.raises(ScheduleError) as told:
        parse(schedule, zone)
    assert str(told.value).startswith(line)


def cron(**spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "c", "namespace": "ml", "uid": "u", "creationTimestamp": "2026-11-20T00:50:00Z"},
        "spec": {"schedule": "0 * * * *", "jobTemplate": {"spec": SPEC}, **spec}, "status": {},
    }  # fmt: skip


def job(name: str, phase: str, hour: int) -> dict[str, Any]:
    when = f"2026-11-20T{hour:02}:00:00Z"
    owner = {"kind": "CronJob", "uid": "u", "controller": True}
    return {
        "metadata": {
            "name": name, "namespace": "ml", "uid": name, "creationTimestamp": when, "ownerReferences": [owner],
            "annotations": {"volcano.sh/cronjob-scheduled-timestamp": when},
        },
        "status": {"state": {"phase": phase, "lastTransitionTime": when}},
    }  # fmt: skip


def told(document: dict[str, Any], *jobs: dict[str, Any], now: str) -> CronStep:
    """Return the step once the status is written."""
    for _ in range(3):
        step = decide(document, jobs, at(now))
        if step.status is None:
            return step
        document["status"] = step.status
    raise AssertionError("the status is never right")


def test_a_job_is_made_when_it_is_due_under_a_name_of_its_time() -> None:
    early = told(cron(), now="11-20 00:59")
    assert (early.create, shown(early.wake)) == (None, "11-20 01:00:00")
    due = told(cron(), now="11-20 01:00")
    assert due.create is not None
    meta = due.create["metadata"]
    assert meta["name"] == f"c-{int(at('11-20 01:00')) // 60}"
    assert meta["annotations"] == {"volcano.sh/cronjob-scheduled-timestamp": "2026-11-20T01:00:00Z"}
    assert meta["ownerReferences"][0]["uid"] == "u"
    made = cron()
    assert told(made, job("c-1", "Running", 1), now="11-20 01:00").create is None
    assert made["status"]["lastScheduleTime"] == "2026-11-20T01:00:00Z"
    assert [one["name"] for one in made["status"]["active"]] == ["c-1"]


@pytest.mark.parametrize(
    ("policy", "deleted", "created"), [("Allow", [], True), ("Forbid", [], False), ("Replace", ["c-1"], True)]
)
def test_one_that_still_runs_is_left_waited_for_or_replaced(policy: str, deleted: list[str], created: bool) -> None:
    step = told(cron(concurrencyPolicy=policy), job("c-1", "Running", 1), now="11-20 02:00")
    assert [one["metadata"]["name"] for one in step.delete] == deleted
    assert (step.create is not None) == created


def test_a_time_that_was_missed_for_too_long_is_passed_over_and_a_suspended_one_makes_nothing() -> None:
    assert told(cron(startingDeadlineSeconds=60), now="11-20 01:02").create is None
    assert told(cron(startingDeadlineSeconds=180), now="11-20 01:02").create is not None
    assert told(cron(suspend=True), now="11-20 01:02").create is None


def test_of_jobs_that_have_ended_the_last_few_stay() -> None:
    ended = [job(f"c-{hour}", "Completed", hour) for hour in range(1, 6)] + [job("f-1", "Failed", 1)]
    document = cron(suspend=True)
    step = told(document, *ended, now="11-20 06:30")
    assert [one["metadata"]["name"] for one in step.delete] == ["c-1", "c-2"]
    assert document["status"]["lastSuccessfulTime"] == "2026-11-20T05:00:00Z"


def test_a_mistake_is_one_line() -> None:
    for field, wrong, line in [
        ("schedule", "often", "spec.schedule: found 'often', allowed is five fields"),
        ("schedule", 5, "spec.schedule: found 5, allowed is a string"),
        ("concurrencyPolicy", "Queue", "spec.concurrencyPolicy: found 'Queue', allowed is Allow, Forbid, Replace"),
        ("failedJobsHistoryLimit", -1, "spec.failedJobsHistoryLimit: found -1, allowed is a whole number >= 0"),
    ]:
        step = told(cron(**{field: wrong}), now="11-20 02:00")
        (note,) = step.notes
        assert note.text.startswith(line)
        assert step.create is None

"""Volcano's Jobs through their lives: phases, counts, policies, commands, on a pretend API server."""

import pytest

from tests.controllers.pretend import Pretend, on, task


def test_no_pod_is_made_before_the_group_is_let_in_and_the_job_runs_and_completes() -> None:
    job = Pretend({"tasks": [task("worker", 2)]}, open=False)
    assert job.rest() == "Pending"
    assert job.group is not None
    assert job.group.spec["minMember"] == 2
    assert job.group.spec["minResources"] == {
        "count/pods": "2", "cpu": "2", "pods": "2", "requests.cpu": "2",
    }  # fmt: skip
    assert job.pods == {}
    job.let_in()
    assert job.rest() == "Pending pending=2"
    job.run()
    assert job.rest() == "Running running=2"
    job.succeed("worker-0")
    assert job.rest() == "Running running=1 succeeded=1"
    job.succeed()
    assert job.rest() == "Completed succeeded=2"
    assert job.group is None
    assert job.phases == ["Pending", "Running", "Completed"]


def test_the_group_of_a_job_for_our_own_scheduler_is_let_in_by_its_controller() -> None:
    """Where we do not schedule for Volcano's name nobody writes to groups without pods."""
    job = Pretend({"tasks": [task("a", 1)], "schedulerName": "phalanx"}, open=False, lets_in=frozenset({"phalanx"}))
    assert job.rest() == "Pending pending=1"
    theirs = Pretend({"tasks": [task("a", 1)]}, open=False, lets_in=frozenset({"phalanx"}))
    assert theirs.rest() == "Pending"


def test_a_job_of_which_too_few_pods_succeed_fails_and_says_so() -> None:
    job = Pretend({"tasks": [task("worker", 2)]})
    job.rest()
    job.run()
    job.rest()
    job.fail("worker-0")
    assert job.rest() == "Running running=1 failed=1"
    job.succeed()
    assert job.rest() == "Failed succeeded=1 failed=1"
    state = job.read.state
    assert (state.reason, state.message) == ("NotEnoughSucceeded", "1 of 2 pods of task worker succeeded, 2 needed")


@pytest.mark.parametrize(
    ("action", "phases", "pods"),
    [
        ("AbortJob", "Aborting Aborted", ""),
        ("TerminateJob", "Terminating Terminated", ""),
        ("CompleteJob", "Completing Completed", ""),
        ("RestartJob", "Restarting Pending", "a-0:1/1 a-1:1/1 b-0:1/1"),
        ("RestartTask", "Restarting Pending", "a-0:0/1 a-1:0/1 b-0:0/0"),
        ("RestartPod", "Restarting Pending Running", "a-0:0/1 a-1:0/0 b-0:0/0"),
    ],
)
def test_a_policy_answers_a_failed_pod(action: str, phases: str, pods: str) -> None:
    job = Pretend({"tasks": [task("a", 2), task("b", 1)], "minAvailable": 2, "policies": [on(action, "PodFailed")]})
    job.rest()
    job.run()
    job.rest()
    job.fail("a-0")
    job.rest()
    assert " ".join(job.phases[2:]) == phases
    # One that has failed is kept, as there, unless the Job starts anew.
    assert job.versions() == (pods or "a-0:0/0")
    assert [(note.reason, note.text) for note in job.notes] == [
        ("ExecuteAction", f"{action}, because of PodFailed of j-a-0 with exit code 1")
    ]


def test_a_restart_waits_for_all_that_goes_when_all_are_needed() -> None:
    job = Pretend({"tasks": [task("a", 2)], "policies": [on("RestartJob", "PodFailed")]}, lingering=True)
    job.rest()
    job.run()
    job.rest()
    job.fail("a-1")
    assert job.rest() == "Restarting terminating=2 retries=1"
    job.collect()
    assert job.rest() == "Pending pending=2 retries=1"
    assert job.versions() == "a-0:1/1 a-1:1/1"


def test_a_partition_is_restarted_alone() -> None:
    parts = {"totalPartitions": 2, "partitionSize": 2, "minPartitions": 2}
    job = Pretend({"tasks": [task("w", 4, partitionPolicy=parts, policies=[on("RestartPartition", "PodFailed")])]})
    job.rest()
    job.run()
    job.rest()
    job.fail("w-2")
    assert job.rest() == "Pending pending=2 running=2 retries=1"
    assert job.versions() == "w-0:0/0 w-1:0/0 w-2:0/1 w-3:0/1"


def test_a_job_is_restarted_as_often_as_it_may_be_and_keeps_what_the_last_pods_leave() -> None:
    job = Pretend({"tasks": [task("a", 1)], "maxRetry": 2, "policies": [on("RestartJob", "PodFailed")]})
    for _ in range(2):
        job.rest()
        job.run()
        job.rest()
        job.fail()
    assert job.rest() == "Failed failed=1 retries=2"
    assert job.read.state.message == "restarted 2 times, as often as it may be"


def test_exit_codes_are_those_of_the_first_container_and_a_tasks_policies_go_before_the_jobs() -> None:
    own = [on("RestartTask", exitCode=7)]
    job = Pretend({"tasks": [task("a", 1, policies=own), task("b", 1)], "policies": [on("AbortJob", "PodFailed")]})
    job.rest()
    job.run()
    job.rest()
    job.fail("a-0", code=7)
    assert job.rest().startswith("Pending")
    job.run()
    job.rest()
    job.fail("b-0", code=7)
    assert job.rest() == "Aborted failed=1 retries=1"


def test_a_timeout_lets_a_pod_come_right_before_its_policy_answers() -> None:
    job = Pretend({"tasks": [task("a", 2)], "policies": [on("AbortJob", "PodPending", timeout="1m")]})
    job.rest()
    assert job.wake == job.now + 60
    job.run("a-0")
    job.now += 30
    job.rest()
    job.run("a-1")
    job.now += 31
    assert job.rest() == "Running running=2"
    late = Pretend({"tasks": [task("a", 1)], "policies": [on("AbortJob", "PodPending", timeout="1m")]})
    late.rest()
    late.now += 60
    assert late.rest() == "Aborted"


def test_an_evicted_pod_is_made_again_and_answered_once_whoever_looks() -> None:
    """One that is told to go counts at once; one that is gone at once is missed in the status."""
    for lingering in (True, False):
        for forgotten in (True, False):
            job = Pretend({"tasks": [task("a", 2)], "policies": [on("RestartJob", "PodEvicted")]}, lingering=lingering)
            job.rest()
            job.run()
            job.rest()
            job.evict("a-1")
            if forgotten:
                job.memory, job.gone = type(job.memory)(), ()
            job.rest()
            job.collect()
            assert job.rest() == "Pending pending=2 retries=1", (lingering, forgotten)


def test_scaling_down_evicts_nobody_and_the_table_of_names_follows() -> None:
    job = Pretend({
        "tasks": [task("a", 3, minAvailable=1)], "plugins": {"svc": []}, "policies": [on("AbortJob", "PodEvicted")],
    })  # fmt: skip
    job.rest()
    job.run()
    job.rest()
    job.spec["tasks"][0]["replicas"] = 1
    assert job.rest() == "Running running=1"
    assert job.versions() == "a-0:0/0"
    assert job.objects["ConfigMap", "j-svc"]["VC_A_HOSTS"] == "j-a-0.j"
    job.spec["tasks"][0]["replicas"] = 2
    assert job.rest() == "Running pending=1 running=1"
    assert job.objects["ConfigMap", "j-svc"]["VC_A_NUM"] == "2"


def test_a_task_waits_for_those_it_depends_on() -> None:
    both, one = {"name": ["a", "b"], "iteration": "all"}, {"name": ["a", "b"], "iteration": "any"}
    job = Pretend({"tasks": [task("a", 1), task("b", 1), task("c", 1, dependsOn=both), task("d", 1, dependsOn=one)]})
    assert job.rest() == "Pending pending=2"
    job.run("b")
    assert job.rest() == "Pending pending=2 running=1"
    assert "j-d-0" in job.pods
    job.succeed("a")
    assert job.rest() == "Pending pending=2 running=1 succeeded=1"


def test_a_job_is_suspended_and_resumed_by_commands_each_carried_out_once() -> None:
    job = Pretend({"tasks": [task("a", 2)], "plugins": {"svc": [], "ssh": []}})
    job.rest()
    job.run()
    job.rest()
    assert set(job.objects) == {
        ("ConfigMap", "j-svc"), ("Service", "j"), ("NetworkPolicy", "j"), ("Secret", "j-ssh"),
    }  # fmt: skip
    job.command("AbortJob")
    assert job.rest() == "Aborted"
    assert (job.pods, job.objects, job.group, job.commands) == ({}, {}, None, {})
    job.command("ResumeJob")
    assert job.rest() == "Pending pending=2 retries=1"
    assert len(job.objects) == 4
    job.command("ResumeJob", 2)
    assert job.rest() == "Pending pending=2 retries=1"
    assert job.notes[-1].text == "ResumeJob, as command resumejob-2 says: nothing to do in phase Pending"


def test_a_command_to_stop_waits_until_a_restart_is_through() -> None:
    job = Pretend({"tasks": [task("a", 2)]}, lingering=True)
    job.rest()
    job.command("RestartJob")
    assert job.rest() == "Restarting terminating=2 retries=1"
    job.command("AbortJob")
    assert job.rest() == "Restarting terminating=2 retries=1"
    job.collect()
    assert job.rest() == "Aborted retries=1"


def test_a_job_goes_when_its_time_after_the_end_is_over() -> None:
    job = Pretend({"tasks": [task("a", 1)], "ttlSecondsAfterFinished": 60})
    job.rest()
    job.run()
    job.rest()
    job.succeed()
    job.rest()
    assert (job.wake, job.deleted) == (job.now + 60, False)
    job.now += 60
    job.rest()
    assert job.deleted


def test_a_mistake_is_one_line_in_the_status_and_ends_nothing() -> None:
    job = Pretend({"tasks": [task("a", 1)]})
    job.rest()
    job.run()
    job.rest()
    job.spec["tasks"][0]["replicas"] = -1
    assert job.rest() == "Running running=1"
    line = "spec.tasks[0].replicas: found -1, allowed is a whole number >= 0"
    assert (job.read.state.reason, job.read.state.message) == ("Refused", line)
    job.spec["tasks"][0]["replicas"] = 1
    job.succeed()
    assert job.rest() == "Completed succeeded=1"
    assert job.read.state.reason == ""


def test_containers_that_are_started_anew_too_often_fail_their_task() -> None:
    job = Pretend({"tasks": [task("a", 2, maxRetry=4)], "policies": [on("TerminateJob", "TaskFailed")]})
    job.rest()
    job.run()
    job.crash("a-0", 3)
    assert job.rest() == "Running running=2"
    job.crash("a-1", 1)
    assert job.rest() == "Terminated"

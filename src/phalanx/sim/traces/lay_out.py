"""Lay out: jobs and nodes as the timeline of a simulation."""

from collections.abc import Sequence

from phalanx.model.axis import CPU, GPU, MEMORY
from phalanx.sim.lines import NetworkLine, NodeLine, PodLine, QueueLine, Scenario
from phalanx.sim.network import Network
from phalanx.sim.traces.job import Job
from phalanx.sim.words import Runtime

#: The label that says whose a pod is.
USER = "user"


def scenario_of(
    source: str, jobs: Sequence[Job], nodes: Sequence[NodeLine], network: Network | None = None
) -> Scenario:
    """Return a trace as a scenario; its queues own nothing and weigh the same. Without a network nobody talks."""
    scenario = Scenario(source, nodes=list(nodes))
    if network is not None:
        scenario.networks.append(NetworkLine(line=0, name="network", speeds=network))
    scenario.pods.extend(_pods(job, number, talks=network is not None) for number, job in enumerate(jobs, start=1))
    for name in sorted({job.queue for job in jobs if job.queue is not None}):
        scenario.queues.append(QueueLine(line=0, name=name, quota={GPU: "0"}, limit={}, weight={GPU: 1.0}))
    if scenario.queues and any(job.queue is None for job in jobs):
        scenario.queues.append(QueueLine(line=0, name="default", quota={GPU: "0"}, limit={}, weight={GPU: 1.0}))
    return scenario


def _pods(job: Job, number: int, *, talks: bool) -> PodLine:
    whole = job.part == 1000
    amounts = {CPU: f"{job.cpu}m", MEMORY: f"{job.memory}Mi"}
    if job.gpus and whole:
        amounts[GPU] = str(job.gpus)
    return PodLine(
        line=number,
        name=job.name,
        amounts=amounts,
        label={USER: job.user} if job.user else {},
        select={},
        tolerate=(),
        members=None if job.members == 1 else job.members,
        created=job.arrival,
        runtime=None if job.runtime is None else Runtime(job.runtime),
        priority=job.priority,
        queue=job.queue,
        communication=job.communication if talks and job.members > 1 else None,
        # Any of the models serves as well as another.
        gpu_model=",".join(f"{model}=1" for model in job.models) or None,
        gpu_fraction=None if whole or not job.gpus else f"{job.part / 1000:.3f}",
    )

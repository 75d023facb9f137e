"""The pods of five Jobs, beside those that the code of Volcano's own controller (1.14.1) makes of them.

`volcano_jobs/pods.json` is what `dump_test.go` printed there, in `pkg/controllers/job` of its module, for each Job of
`jobs.yaml` with what its webhook fills in; empty fields, times and uids are left out.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from phalanx.dialects.volcano.jobs import made_of

FOLDER = Path(__file__).parent / "volcano_jobs"
JOBS = {job["metadata"]["name"]: job for job in yaml.safe_load_all((FOLDER / "jobs.yaml").read_text())}
THEIRS = json.loads((FOLDER / "pods.json").read_text())


def stripped(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {
            key: one for key, one in value.items() if one not in (None, {}, [], "") and key not in {"uid", "status"}
        }
        return {key: stripped(one) for key, one in kept.items()}
    return [stripped(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", JOBS)
def test_pods_are_those_of_volcanos_controller_field_by_field(name: str) -> None:
    job = JOBS[name]
    job["metadata"] |= {"namespace": "default", "uid": "u-1"}
    ours = [stripped(one.object) for one in made_of(job) if one.object["kind"] == "Pod"]
    for pod in ours:
        del pod["apiVersion"], pod["kind"]
    assert ours == THEIRS[name]
    assert len(ours) > 1

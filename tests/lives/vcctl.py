"""`python -m tests.lives.vcctl`: Volcano's own command line, 1.15.1, on a Job of ours, as docs/volcano.md shows it."""

import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from bench.cluster.building import Source, build
from phalanx.kube.installation.values import Values
from phalanx.kube.local import ControlPlane, node_manifest
from phalanx.kube.local.processes import Processes
from phalanx.kube.playground import grant
from phalanx.testing.objects import create_all, list_all
from phalanx.testing.running import eventually
from tests.faults.kubelet import StrictKubelet
from tests.kube.volcano_modules import module
from tests.lives.stage import BATCH

VCCTL = Source("volcano.sh/volcano", "v1.15.1", {"vcctl": "./cmd/cli"}, ("volcano.sh/apis=volcano.sh/apis@v1.14.0",))
JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train, namespace: default}
spec:
  plugins: {svc: []}
  tasks:
    - name: worker
      replicas: 4
      template:
        spec:
          restartPolicy: Never
          containers: [{name: main, image: "train:1", resources: {limits: {nvidia.com/gpu: 1}}}]
"""


def main() -> None:
    """Show it."""
    program = build(VCCTL) / "bin/vcctl"
    folder = Path(tempfile.mkdtemp(prefix="vcctl-"))
    with ControlPlane() as plane:
        bases = module() / "config/crd"
        plane.kubectl("apply", "--server-side", "-f", str(bases / "volcano/bases"), "-f", str(bases / "jobflow/bases"))
        plane.kubectl("wait", "--for=condition=Established", "crd", "--all")
        create_all(plane.kubeconfig, [node_manifest("n1", gpus=8)])
        processes = Processes(folder, removed_at_end=False)
        kubeconfig = grant(plane, Values(volcano_jobs=True))
        words = ["--port=0", "--no-leader-election", "--volcano-jobs", "--scheduler-name=volcano"]
        try:
            processes.start("phalanx", [sys.executable, "-m", "phalanx", "run", f"--kubeconfig={kubeconfig}", *words])
            with StrictKubelet(plane.kubeconfig):
                _show(plane, program)
        finally:
            processes.close()


def _show(plane: ControlPlane, program: Path) -> None:
    def phase(*wanted: str) -> None:
        def look() -> bool:
            jobs = list_all(plane.kubeconfig, f"/apis/{BATCH}/namespaces/default/jobs")
            return bool(jobs) and (jobs[0].get("status") or {}).get("state", {}).get("phase") in wanted

        eventually(f"the Job is {wanted}", look)

    def say(*words: str) -> None:
        print(f"$ vcctl {' '.join(words)}")  # noqa: T201 (the transcript)
        done = subprocess.run(
            [str(program), *words, "--kubeconfig", str(plane.kubeconfig)], capture_output=True, text=True, check=False
        )
        print(done.stdout + done.stderr)  # noqa: T201

    create_all(plane.kubeconfig, [yaml.safe_load(JOB)])
    phase("Running")
    say("job", "list")
    say("job", "view", "--name", "train")
    say("job", "suspend", "--name", "train")
    phase("Aborted")
    say("job", "list")
    say("job", "resume", "--name", "train")
    phase("Running")
    say("job", "list")
    print(plane.kubectl("get", "vcjob,podgroup,pods,svc,configmap", "-o", "wide"))  # noqa: T201


if __name__ == "__main__":
    main()

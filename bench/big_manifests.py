"""A large cluster as manifests on disk: 5,000 nodes, and 10,000 pending pods in 1,250 gangs of 8.

python -m bench.big_manifests            writes them to a temporary folder and plans them with --timings
python -m bench.big_manifests FOLDER     writes them there and keeps them
"""

import sys
import tempfile
from pathlib import Path

from phalanx.cli.main import main

NODES, GANGS, MEMBERS = 5_000, 1_250, 8

NODE = """---
apiVersion: v1
kind: Node
metadata:
  name: node-{node:04}
  labels:
    kubernetes.io/hostname: node-{node:04}
    topology.kubernetes.io/zone: zone-{zone}
status:
  allocatable: {{cpu: "64", memory: 512Gi, pods: "110", nvidia.com/gpu: "8"}}
  conditions:
    - {{type: Ready, status: "True"}}
"""

POD = """---
apiVersion: v1
kind: Pod
metadata:
  name: job-{gang:04}-{member}
  namespace: team-{team}
  creationTimestamp: "2026-11-01T12:{minute:02}:{second:02}Z"
  labels: {{app: job-{gang:04}}}
  annotations:
    phalanx.dev/gang: job-{gang:04}
    phalanx.dev/minimum: "8"
spec:
  schedulerName: phalanx
  containers:
    - name: main
      image: example.com/train:1
      command: [python, train.py]
      env:
        - {{name: RANK, value: "{member}"}}
        - {{name: WORLD_SIZE, value: "8"}}
      resources:
        requests: {{cpu: "8", memory: 64Gi, nvidia.com/gpu: "{gpus}"}}
        limits: {{nvidia.com/gpu: "{gpus}"}}
"""


def write(folder: Path) -> None:
    """Write one file of nodes and one file per gang."""
    folder.mkdir(parents=True, exist_ok=True)
    nodes = (NODE.format(node=node, zone=node % 4) for node in range(NODES))
    (folder / "nodes.yaml").write_text("".join(nodes))
    for gang in range(GANGS):
        age = {"minute": gang // 60, "second": gang % 60, "team": gang % 10, "gpus": 1 << gang % 4}
        pods = (POD.format(gang=gang, member=member, **age) for member in range(MEMBERS))
        (folder / f"job-{gang:04}.yaml").write_text("".join(pods))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        write(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            write(Path(temporary))
            sys.exit(main(["plan", "-f", temporary, "--timings"]))

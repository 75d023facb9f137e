"""The command line of every process of a control plane. All paths are relative to its folder, where they run."""

from dataclasses import dataclass
from pathlib import Path

#: Gates and group versions that serve each Kubernetes' own gangs, with all fields of theirs.
_GATES = {
    "1.35": ("GenericWorkload", "GangScheduling"),
    "1.36": (
        "GenericWorkload",
        "GangScheduling",
        "TopologyAwareWorkloadScheduling",
        "WorkloadAwarePreemption",
        "WorkloadWithJob",
    ),
    "1.37": ("GenericWorkload", "TopologyAwareWorkloadScheduling", "WorkloadWithJob"),
}
#: kube-scheduler gets its gangs alone, so that comparisons are with what its users turn on first.
_SCHEDULER_GATES = {
    "1.35": ("GenericWorkload", "GangScheduling"),
    "1.36": ("GenericWorkload", "GangScheduling"),
    "1.37": ("GenericWorkload",),
}
_GROUP_VERSIONS = {"1.35": "v1alpha1", "1.36": "v1alpha2", "1.37": "v1beta1"}

# A name with a colon, because etcd wants host:port; a socket in a private folder needs neither a port nor a key.
_ETCD = "unix://etcd:0"
_PEER = "unix://peer:0"
_ETCD_HTTP = "unix://etcd-http:0"


def etcd() -> list[str]:
    """A store that forgets on power loss, which nobody minds here, and does not wait for the disk."""
    return [
        "--name=local",
        "--data-dir=etcd",
        "--unsafe-no-fsync",
        "--quota-backend-bytes=8000000000",
        f"--listen-client-urls={_ETCD}",
        f"--advertise-client-urls={_ETCD}",
        f"--listen-client-http-urls={_ETCD_HTTP}",
        f"--listen-peer-urls={_PEER}",
        f"--initial-advertise-peer-urls={_PEER}",
        f"--initial-cluster=local={_PEER}",
        "--log-level=warn",
    ]


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What differs between one API server and another."""

    version: str
    port: int
    #: Where each request is written down, or None.
    audit: Path | None
    #: How many reads, and how many writes, may be in flight; None is the server's default.
    inflight: int | None
    #: Whether the server shares itself fairly between users (API Priority and Fairness).
    fairness: bool


def kube_apiserver(options: ServerOptions) -> list[str]:
    """An API server with its own authority, client certificates and RBAC, on loopback only."""
    flags = [
        f"--etcd-servers={_ETCD}",
        "--bind-address=127.0.0.1",
        f"--secure-port={options.port}",
        # The port is held by us for the server's whole life, restarts included, so that nobody else can take it.
        "--permit-port-sharing=true",
        "--cert-dir=apiserver",
        "--tls-cert-file=server.crt",
        "--tls-private-key-file=server.key",
        "--client-ca-file=ca.crt",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-account-key-file=service-accounts.pub",
        "--service-account-signing-key-file=service-accounts.key",
        "--service-cluster-ip-range=10.0.0.0/24",
        # A loopback address is refused as an endpoint, and the log would say so every ten seconds.
        "--endpoint-reconciler-type=none",
        # Pods need no token to be scheduled, and no kubelet here would take the not-ready taint off.
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
        f"--feature-gates={_on(_GATES[options.version])}",
        f"--runtime-config=scheduling.k8s.io/{_GROUP_VERSIONS[options.version]}=true",
    ]
    if options.audit is not None:
        flags += [f"--audit-log-path={options.audit.absolute()}", "--audit-policy-file=audit.yaml"]
    if options.inflight is not None:
        flags += [f"--max-requests-inflight={options.inflight}", f"--max-mutating-requests-inflight={options.inflight}"]
    if not options.fairness:
        flags.append("--enable-priority-and-fairness=false")
    return flags


def kube_controller_manager(version: str, *, heartbeats: bool) -> list[str]:
    """The controllers, each with its own service account, as in clusters of people."""
    flags = [
        "--kubeconfig=kube-controller-manager.kubeconfig",
        "--use-service-account-credentials=true",
        "--service-account-private-key-file=service-accounts.key",
        "--root-ca-file=ca.crt",
        "--leader-elect=false",
        "--secure-port=0",
        "--kube-api-qps=5000",
        "--kube-api-burst=5000",
        f"--feature-gates={_on(_GATES[version])}",
    ]
    if not heartbeats:
        # Nodes that nobody beats for would be declared dead after 50 s and their pods evicted.
        flags.append("--controllers=*,-node-lifecycle-controller")
    return flags


def kube_scheduler(version: str) -> list[str]:
    """Kubernetes' own scheduler, not slowed by its client."""
    return ["--config=kube-scheduler.yaml", "--secure-port=0", f"--feature-gates={_on(_SCHEDULER_GATES[version])}"]


def kwok() -> list[str]:
    """Pretend kubelets for the nodes that are annotated as fake."""
    return ["--kubeconfig=kwok.kubeconfig", "--config=kwok.yaml", "--server-address="]


KUBE_SCHEDULER_CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: kube-scheduler.kubeconfig, qps: 5000, burst: 5000}
leaderElection: {leaderElect: false}
"""

AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
"""


def _on(gates: tuple[str, ...]) -> str:
    return ",".join(f"{gate}=true" for gate in gates)

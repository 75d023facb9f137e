"""What only nodes that declare a feature can run."""

from random import Random

from phalanx.testing.objects import Manifest
from tests.differential.case import ASKED, Case, nodes, pods, some

#: As the kubelets of 1.36 declare them; the last one is nobody's.
_DECLARED = ("RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport", "SomethingElse")


def declared_features(random: Random, case: Case) -> None:
    """User namespaces on the host's network, and containers that restart all others."""
    case.batches = [nodes(random, alter=_declares)]
    case.asked = pods(random, "p", ASKED, _needs)


def _declares(random: Random, node: Manifest) -> None:
    node["status"]["declaredFeatures"] = sorted(some(random, _DECLARED, 3))


def _needs(random: Random, pod: Manifest) -> None:
    spec = pod["spec"]
    if random.random() < 0.5:
        spec["hostUsers"] = random.random() < 0.3
    if random.random() < 0.5:
        spec["hostNetwork"] = True
    if random.random() < 0.4:
        action = random.choice(("Restart", "RestartAllContainers"))
        rule = {"action": action, "exitCodes": {"operator": "In", "values": [random.randint(1, 9)]}}
        spec["restartPolicy"] = "Never"
        spec["containers"][0] |= {"restartPolicy": "Never", "restartPolicyRules": [rule]}

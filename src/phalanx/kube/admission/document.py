"""How a policy and its binding are written, whatever they check."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Document = dict[str, Any]

V1 = "admissionregistration.k8s.io/v1"
#: Where the API server's own pods live. No policy of ours looks at what is made there.
SYSTEM = "kube-system"


#: Placeholders, as in `kube/manifests`: what is made here has no installation yet.
NAME, NAMESPACE, SCHEDULER_NAMES = "${name}", "${namespace}", "${scheduler_names}"


def metadata(what: str) -> Document:
    """Return the name and the labels of a policy, or of its binding: two installations share none."""
    labels = {
        "app.kubernetes.io/name": NAME,
        "app.kubernetes.io/instance": NAMESPACE,
        "app.kubernetes.io/part-of": "phalanx",
        "app.kubernetes.io/component": "admission",
    }
    return {"name": f"{what}.{NAME}.{NAMESPACE}.phalanx.dev", "labels": labels}


def elsewhere() -> Document:
    """Return the requirement that a namespace is neither the control plane's own nor the scheduler's."""
    return {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [SYSTEM, NAMESPACE]}


@dataclass(frozen=True, slots=True)
class Rule:
    """Objects of one group."""

    group: str
    resources: tuple[str, ...]
    operations: tuple[str, ...] = ("CREATE", "UPDATE")

    def document(self) -> Document:
        """Return it as the API server takes it, for every version of the group."""
        return {
            "apiGroups": [self.group],
            "apiVersions": ["*"],
            "operations": list(self.operations),
            "resources": list(self.resources),
        }


@dataclass(frozen=True, slots=True)
class Check:
    """What must hold, and what is said where it does not: an expression without rights, and a text if that fails."""

    holds: str
    says: str
    otherwise: str
    reason: str = "Invalid"


def nothing_wrong(otherwise: str, reason: str = "Invalid") -> Check:
    """Return the check that the variable `wrong`, a sentence, is empty."""
    return Check("variables.wrong == ''", "variables.wrong", otherwise, reason)


def matched(rules: Sequence[Rule], object_selector: Document | None = None) -> Document:
    """Return which objects a policy looks at: none of the control plane's own, and none of the scheduler's own."""
    return {
        "resourceRules": [rule.document() for rule in rules],
        "namespaceSelector": {"matchExpressions": [elsewhere()]},
        **({"objectSelector": object_selector} if object_selector else {}),
    }


def mutating(what: str, constraints: Document, conditions: Mapping[str, str], patch: str) -> list[Document]:
    """Return a policy that changes new objects, and its binding, in force as long as the scheduler is installed.

    Its parameter is the scheduler's own service account: where that is gone, the installation is. The API server
    watches service accounts in any case.
    """
    spec = {
        "paramKind": {"apiVersion": "v1", "kind": "ServiceAccount"},
        "failurePolicy": "Ignore",
        "reinvocationPolicy": "IfNeeded",
        "matchConstraints": constraints,
        "matchConditions": [{"name": name, "expression": condition} for name, condition in conditions.items()],
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}],
    }
    alive = {"name": NAME, "namespace": NAMESPACE, "parameterNotFoundAction": "Allow"}
    bound = {"policyName": metadata(what)["name"], "paramRef": alive}
    return [
        {"apiVersion": V1, "kind": kind, "metadata": metadata(what), "spec": body}
        for kind, body in (("MutatingAdmissionPolicy", spec), ("MutatingAdmissionPolicyBinding", bound))
    ]


def validating(
    what: str,
    constraints: Document,
    conditions: Mapping[str, str],
    variables: Mapping[str, str],
    checks: Sequence[Check],
    params: Document | None = None,
) -> list[Document]:
    """Return a policy and its binding. One that cannot be evaluated lets everything through."""
    spec = {
        **({"paramKind": params} if params else {}),
        "failurePolicy": "Ignore",
        "matchConstraints": constraints,
        "matchConditions": [{"name": name, "expression": text} for name, text in conditions.items()],
        "variables": [{"name": name, "expression": text} for name, text in variables.items()],
        "validations": [
            {
                "expression": one.holds,
                "reason": one.reason,
                "messageExpression": one.says,
                "message": one.otherwise,
            }
            for one in checks
        ],
    }
    bound = {
        "policyName": metadata(what)["name"],
        "validationActions": ["Deny"],
        **({"paramRef": {"selector": {}, "parameterNotFoundAction": "Allow"}} if params else {}),
    }
    return [
        {"apiVersion": V1, "kind": "ValidatingAdmissionPolicy", "metadata": metadata(what), "spec": spec},
        {
            "apiVersion": V1,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": metadata(what),
            "spec": bound,
        },
    ]

"""The CustomResourceDefinition of our Queue, from one table of its fields.

The API server refuses here what `dialects.queues` would refuse later, so that a mistake is told to who makes it. What
needs more than one object to be seen (a missing parent, a circle) is told in the Queue's status.
"""

from typing import Any

from phalanx.dialects.mistakes import NAME_MAX
from phalanx.dialects.native import queues
from phalanx.dialects.queue_terms import WEIGHT_MAX
from phalanx.dialects.timestamps import DURATION_MAX
from phalanx.model.axis import AMOUNT_MAX, GPU

PLURAL = "queues"
NAME = f"{PLURAL}.{queues.GROUP}"

Schema = dict[str, Any]

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME = f"^{_LABEL}([.]{_LABEL})*$"
_RESOURCE = "^[A-Za-z0-9][-A-Za-z0-9_./]{0,316}$"
_DURATION = "^([0-9]+([.][0-9]+)?|([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+)$"
#: Rules over a map cost what its largest size would; without bounds the server refuses the definition itself.
_RESOURCES_MAX = 64
_NAMESPACES_MAX = 1024


def queue_crd() -> Schema:
    """Return the definition."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME, "labels": {"app.kubernetes.io/name": "phalanx"}},
        "spec": {
            "group": queues.GROUP,
            "scope": "Cluster",
            "names": {
                "kind": queues.KIND, "listKind": f"{queues.KIND}List", "plural": PLURAL, "singular": "queue",
                "shortNames": ["pq"], "categories": ["phalanx"],
            },
            "versions": [{
                "name": queues.VERSION.rpartition("/")[2],
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "additionalPrinterColumns": _columns(),
                "schema": {"openAPIV3Schema": _schema()},
            }],
        },
    }  # fmt: skip


def _columns() -> list[Schema]:
    gpu = GPU.replace(".", "\\.")
    table = (
        ("Parent", "string", ".spec.parent"),
        ("Priority", "integer", ".spec.priority"),
        ("GPU quota", "string", f".spec.resources.{gpu}.quota"),
        ("GPUs", "string", f".status.allocated.{gpu}"),
        ("Pending", "integer", ".status.pending"),
        ("Age", "date", ".metadata.creationTimestamp"),
    )
    return [{"name": name, "type": type_, "jsonPath": path} for name, type_, path in table]


def _schema() -> Schema:
    return {
        "type": "object",
        "description": "A node in the tree of queues: what it owns, and what it may borrow. Pods live in its leaves.",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": {"type": "object", "properties": SPEC},
            "status": {"type": "object", "properties": STATUS},
        },
        "x-kubernetes-validations": [
            _rule(
                "!has(self.spec) || !has(self.spec.parent) || self.spec.parent != self.metadata.name",
                "a queue cannot be its own parent", ".spec.parent",
            )
        ],
    }  # fmt: skip


def _rule(rule: str, message: str, path: str | None = None, says: str | None = None) -> Schema:
    """Return a rule. `says` is an expression that gives a better message while there is something to show."""
    more = {"fieldPath": path} if path else {}
    return {"rule": rule, "message": message, **more, **({"messageExpression": says} if says else {})}


def _text(description: str, longest: int, rule: str, message: str) -> Schema:
    """Return a string with a rule. Not a pattern: the server's message would be the regular expression."""
    return {
        "type": "string",
        "minLength": 1,
        "maxLength": longest,
        "description": description,
        "x-kubernetes-validations": [_rule(rule, message)],
    }


def _name(description: str, longest: int = NAME_MAX) -> Schema:
    allowed = "allowed are lower-case letters, digits, '-' and '.', with a letter or digit at both ends"
    return _text(description, longest, f"self.matches('{_NAME}')", allowed)


def _runtime(what: str) -> Schema:
    return _text(
        f"How long work is protected from {what} after its start, such as 10m. Absent: as the parent says.",
        64,
        f"self.matches('{_DURATION}') && (self.matches('^[0-9.]+$') ? double(self) <= {DURATION_MAX}.0 : "
        f"duration(self) <= duration('{DURATION_MAX}s'))",
        "allowed is a duration such as 90s or 1h30m, of at most 10 years",
    )


def _amount(description: str) -> Schema:
    return {"x-kubernetes-int-or-string": True, "maxLength": 64, "description": description}


def _of_amount(name: str) -> Schema:
    word = f"string(self.{name})"
    return _rule(
        f"!has(self.{name}) || {word} == '{queues.UNLIMITED_WORD}' || (isQuantity({word}) && "
        f"quantity({word}).compareTo(quantity('0')) >= 0 && quantity({word}).compareTo(quantity('{AMOUNT_MAX}')) <= 0)",
        f"{name}: allowed is a Kubernetes quantity from 0 to 2^53 such as 2, 500m or 8Gi, or the word unlimited",
        f".{name}",
    )


def _quota_within_limit() -> Schema:
    quota, limit, word = "string(self.quota)", "string(self.limit)", f"'{queues.UNLIMITED_WORD}'"
    return _rule(
        f"!has(self.quota) || !has(self.limit) || !isQuantity({limit}) || ({quota} != {word} && "
        f"(!isQuantity({quota}) || quantity({quota}).compareTo(quantity({limit})) <= 0))",
        "quota: allowed is at most the limit",
        ".quota",
        f"'quota ' + {quota} + ': allowed is at most the limit, which is ' + {limit}",
    )


#: The terms of one resource.
TERMS: Schema = {
    "quota": _amount("Guaranteed. A quantity, or unlimited. Absent: 0."),
    "limit": _amount("Never more than this. A quantity, or unlimited. Absent: unlimited."),
    "weight": {
        "type": "number",
        "minimum": 0,
        "maximum": WEIGHT_MAX,
        "description": "Its part of what others leave idle, beside its siblings' weights. Absent: 1.",
        "x-kubernetes-validations": [
            # A thousandth, divided, is the same double as the number that a person wrote.
            _rule("self < 0.0 || double(int(self * 1000.0 + 0.5)) / 1000.0 == self", "allowed are at most 3 decimals")
        ],
    },
}

#: What a user writes.
SPEC: Schema = {
    "parent": _name("The queue above. Absent: directly under the root."),
    "priority": {
        "type": "integer",
        "minimum": -(2**31),
        "maximum": 2**31 - 1,
        "description": "What is left idle goes to higher priorities first. Absent: 0.",
    },
    "resources": {
        "type": "object",
        "maxProperties": _RESOURCES_MAX,
        "description": "By resource name. What is not listed is not governed here.",
        "additionalProperties": {
            "type": "object",
            "properties": TERMS,
            "x-kubernetes-validations": [_of_amount("quota"), _of_amount("limit"), _quota_within_limit()],
        },
        "x-kubernetes-validations": [
            _rule(
                f"self.all(name, name.matches('{_RESOURCE}'))",
                "allowed are names of resources such as cpu or nvidia.com/gpu",
            )
        ],
    },
    "borrowing": {
        "type": "boolean",
        "description": "May use more than its quota when others leave it idle. Absent: true.",
    },
    "consolidation": {
        "type": "boolean",
        "description": "Its work, and that of the queues below it, may be moved to other nodes. Absent: true.",
    },
    "preemptMinRuntime": _runtime("preemption"),
    "reclaimMinRuntime": _runtime("reclaim"),
    "namespaces": {
        "type": "array",
        "minItems": 1,
        "maxItems": _NAMESPACES_MAX,
        "items": _name("A namespace.", 63),
        "x-kubernetes-list-type": "set",
        "description": "Whose pods may use it. Absent: any.",
    },
    "access": {
        "type": "string",
        "enum": list(queues.ACCESSES),
        "description": "Who of those may name it: anybody, or who was granted the verb use on it, which the admission "
        "policies ask. Absent: anybody.",
    },
    "placement": {
        "type": "string",
        "enum": list(queues.PLACEMENTS),
        "description": "Overrides the policy for this queue and those below. Absent: as the parent says.",
    },
}


def _amounts(description: str) -> Schema:
    return {
        "type": "object",
        "additionalProperties": {"x-kubernetes-int-or-string": True},
        "description": description,
    }


#: What the scheduler writes.
STATUS: Schema = {
    "allocated": _amounts("What its work has, that on its way included."),
    "requested": _amounts("What its work has and waits for."),
    "share": _amounts("What it is entitled to now."),
    "pending": {"type": "integer", "format": "int64", "description": "Gangs that wait."},
    "usage": {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "description": "What was used over time; kept here so that a restart does not forget it.",
    },
    "conditions": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status"],
            "properties": {
                "type": {"type": "string", "maxLength": 316},
                "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
                "observedGeneration": {"type": "integer", "format": "int64"},
                "lastTransitionTime": {"type": "string", "format": "date-time"},
                "reason": {"type": "string", "maxLength": 1024},
                "message": {"type": "string", "maxLength": 32768},
            },
        },
    },
}

"""What a `${name}` in the manifests stands for: its value, and the helm expression that gives the same in the chart."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
import yaml

from phalanx import __version__
from phalanx.kube.installation.values import Image, Values

#: The user in the image; the restricted standard wants a number.
UID = 65532
PORT = 10261


@dataclass(frozen=True, slots=True)
class Installation:
    """One Phalanx on a cluster: what it is called, where it lives, and what was chosen."""

    name: str = "phalanx"
    namespace: str = "phalanx-system"
    values: Values = field(default_factory=Values)


@dataclass(frozen=True, slots=True)
class Field:
    """A placeholder. Lists and mappings are `plain` data, which is written as JSON in a line and as YAML in a block."""

    helm: str
    of: Callable[[Installation], Any]
    plain: bool = False


def _value(path: str, *, plain: bool = False) -> Field:
    """Return a field that is one of the values as it stands."""

    def of(installation: Installation) -> Any:
        found: Any = msgspec.to_builtins(installation.values)
        for key in path.split("."):
            found = found[key]
        return f"{found:g}" if isinstance(found, float) else found

    return Field(f".Values.{path}", of, plain)


def _admission(part: str) -> Field:
    """Return whether a part of the admission policies was chosen."""
    helm = f"and .Values.admission.enabled .Values.admission.{part}"
    return Field(helm, lambda of: of.values.admission.enabled and getattr(of.values.admission, part))


def image_text(image: Image) -> str:
    """Return an image as a pod names it: without tag and digest it is the one of this version."""
    tag = image.tag or ("" if image.digest else __version__)
    return image.repository + (f":{tag}" if tag else "") + (f"@{image.digest}" if image.digest else "")


def policy_text(installation: Installation) -> str:
    """Return the policy file: the scheduler names, then what was given, a text as it stands."""
    policy = installation.values.policy or {"extends": "default"}
    text = policy if isinstance(policy, str) else yaml.safe_dump(policy)
    names = ", ".join(f'"{name}"' for name in installation.values.scheduler_names)
    return f"schedulerNames: [{names}]\n{text}"


def _extra_rules(installation: Installation) -> str:
    rules = installation.values.rbac.extra_rules
    return "".join(yaml.safe_dump(msgspec.to_builtins(rules[dialect])) for dialect in sorted(rules) if rules[dialect])


#: Names, with the helm expressions that are longer than a path in `charts/phalanx/templates/_values.tpl`.
FIELDS = {
    "name": Field(".Release.Name", lambda of: of.name),
    "namespace": Field(".Release.Namespace", lambda of: of.namespace),
    "uid": Field(str(UID), lambda _: UID),
    "port": Field(str(PORT), lambda _: PORT),
    "image": Field('include "phalanx.image" .', lambda of: image_text(of.values.image)),
    "image_pull_policy": _value("image.pullPolicy"),
    "image_pull_secrets": _value("image.pullSecrets", plain=True),
    "replicas": _value("replicas"),
    "scheduler_names": _value("schedulerNames", plain=True),
    "policy": Field('include "phalanx.policy" .', policy_text),
    "lease_duration": _value("lease.duration"),
    "renew_deadline": _value("lease.renewDeadline"),
    "retry_period": _value("lease.retryPeriod"),
    "log_format": _value("logFormat"),
    "gpu_config_maps": _value("gpuSharing.configMaps"),
    "volcano_jobs": _value("volcanoJobs"),
    "gpu_node_locks": _value("gpuSharing.nodeLocks"),
    "gpu_runtime_class": _value("gpuSharing.runtimeClassName"),
    "extra_args": _value("extraArgs", plain=True),
    "extra_rules": Field('include "phalanx.extraRules" .', _extra_rules),
    "resources": _value("resources", plain=True),
    "priority_class_name": _value("priorityClassName"),
    "node_selector": _value("nodeSelector", plain=True),
    "tolerations": _value("tolerations", plain=True),
    "affinity": _value("affinity", plain=True),
    "pod_annotations": _value("podAnnotations", plain=True),
    "keep_queues": _value("keepQueues"),
    "admission_keys": _admission("keys"),
    "admission_queues": _admission("queues"),
    "admission_bound": _admission("bound"),
    "admission_defaults": _admission("defaults"),
    "admission_gpus": _admission("gpus"),
    "network_policy": _value("networkPolicy.enabled"),
    "ingress_from": _value("networkPolicy.ingressFrom", plain=True),
    "egress": _value("networkPolicy.egress", plain=True),
    "service_monitor": _value("serviceMonitor.enabled"),
    "monitor_interval": _value("serviceMonitor.interval"),
    "monitor_labels": _value("serviceMonitor.labels", plain=True),
}

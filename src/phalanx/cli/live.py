"""A cluster as documents, with manifests on top of it: what `phalanx plan --live` plans."""

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

from phalanx.cli.output import Mistake, counted
from phalanx.dialects import table
from phalanx.kube.credentials import AccessError, load_access
from phalanx.kube.kinds import RUNTIME_CLASSES
from phalanx.kube.look import LookError, Sight, gather
from phalanx.sim.admission import Admission, full_name, mapping
from phalanx.sim.expand import Owned, is_controller
from phalanx.sim.manifests import Document

CLUSTER = "the cluster"
#: So many are named; of more, how many there are.
_NAMED_MAX = 5
_KEPT = ("uid", "creationTimestamp")


def from_cluster(
    kubeconfig: str | None, context: str | None, files: Iterable[Document] = (), asks: Container[str] = ()
) -> tuple[list[Document], Sight]:
    """Read the cluster once, for files on top of it, with what a policy `asks` for; or raise `Mistake`."""
    also = [RUNTIME_CLASSES] if any(_names_runtime(one.object) for one in files) else []
    try:
        objects, sight = gather(kubeconfig, context, also, asks)
    except (AccessError, LookError) as error:
        raise Mistake(str(error)) from None
    return [Document(one, CLUSTER) for one in objects], sight


def home(kubeconfig: str | None, context: str | None) -> str:
    """Return the namespace of the context: kubectl puts there what names none."""
    try:
        return load_access(kubeconfig, context).namespace
    except AccessError as error:
        raise Mistake(str(error)) from None


def at_home(files: Iterable[Document], namespace: str) -> list[Document]:
    """Return documents with a namespace for those that lack one and live in one."""
    named, found = Admission(), list[Document]()
    for one in files:
        there, given = mapping(named.identify(one.object), "metadata").get("namespace"), one.object.get("metadata")
        if there and isinstance(given, dict | None) and not mapping(one.object, "metadata").get("namespace"):
            found.append(Document({**one.object, "metadata": {**(given or {}), "namespace": namespace}}, one.source))
        else:
            found.append(one)
    return found


def homeless(cluster: Iterable[Document], files: Sequence[Document]) -> list[str]:
    """Say which namespaces of the files are not there: nothing can be created in them."""
    there = {str(mapping(one.object, "metadata").get("name")) for one in _namespaces([*cluster, *files])}
    wanted: dict[str, str] = {}
    for one in files:
        namespace = mapping(one.object, "metadata").get("namespace")
        if isinstance(namespace, str) and namespace not in there:
            wanted.setdefault(namespace, one.source)
    return _listed([f"namespace {name} ({source})" for name, source in wanted.items()], "not on the cluster")


def _namespaces(documents: Iterable[Document]) -> Iterator[Document]:
    return (one for one in documents if one.object.get("kind") == "Namespace")


def on_top(cluster: Sequence[Document], files: Sequence[Document]) -> tuple[list[Document], list[str]]:
    """Return the cluster's objects and the files', which replace those of their names, and lines on what did so."""
    if not files:
        return list(cluster), []
    there = {_key(one.object): one.object for one in cluster}
    named = Admission()
    keys = [_key(named.identify(one.object)) for one in files]
    given = set(keys)
    kept = [one for one in cluster if _key(one.object) not in given]
    laid = [Document(_applied(one.object, there.get(key)), one.source) for one, key in zip(files, keys, strict=True)]
    sources = {" ".join(key): one.source for one, key in reversed(list(zip(files, keys, strict=True))) if key in there}
    replaced = [f"{name} ({source})" for name, source in reversed(sources.items())]
    return [*kept, *laid], [*_listed(replaced, "in place of the cluster's"), *_made(kept, files)]


def _made(cluster: Iterable[Document], files: Iterable[Document]) -> list[str]:
    """Say which controllers of the files have pods on the cluster: those are planned, and no others are made."""
    owned, named = Owned(), Admission()
    for one in cluster:
        owned.add(one.object)
    made = []
    for one in files:
        owner = named.identify(one.object)
        if is_controller(owner) and owned.has(owner):
            made.append(f"{owner['kind']} {full_name(owner)} ({one.source})")
    return _listed(made, "not expanded, because pods of it are on the cluster")


def _names_runtime(one: dict[str, Any]) -> bool:
    spec = mapping(one, "spec")
    return "runtimeClassName" in {*spec, *mapping(mapping(spec, "template"), "spec")}


def _key(one: dict[str, Any]) -> tuple[str, str]:
    return table.TABLE.name(str(one.get("kind")), one.get("apiVersion")), full_name(one)


def _applied(one: dict[str, Any], old: dict[str, Any] | None) -> dict[str, Any]:
    """Return an object as it would be once it is applied: it keeps its age and the status that it does not give.

    A Pod is made anew: what one of its name did before says nothing of it.
    """
    if old is None or one.get("kind") == "Pod" or not isinstance(one.get("metadata"), dict):
        return one
    kept = {key: mapping(old, "metadata").get(key) for key in _KEPT}
    status = {"status": old["status"]} if "status" in old else {}
    return {**status, **one, "metadata": {**kept, **one["metadata"]}}


def _listed(names: Sequence[str], what: str) -> list[str]:
    more = len(names) - _NAMED_MAX
    rest = [f"and {counted(more, 'object')} more {what}"] if more > 0 else []
    return [*(f"{name}: {what}" for name in names[:_NAMED_MAX]), *rest]

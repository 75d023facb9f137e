"""Kubeconfig files as kubectl reads them: several merged into one, one context chosen, every path absolute."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from phalanx.policy.spelling import unknown
from phalanx.yaml_text import Malformed, read_one

_Entry = TypeVar("_Entry", "Cluster", "User")


class AccessError(Exception):
    """The cluster cannot be reached as this user; the text is one line that says which field, and what is allowed."""


class Extension(msgspec.Struct, frozen=True):
    """What a vendor's tool adds to a cluster."""

    name: str
    extension: Any = None


class Cluster(msgspec.Struct, frozen=True, rename="kebab"):
    """Where the API server is, and how we know that it is the right one."""

    server: str | None = None
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    insecure_skip_tls_verify: bool | None = None
    tls_server_name: str | None = None
    proxy_url: str | None = None
    extensions: list[Extension] | None = None


class Variable(msgspec.Struct, frozen=True):
    """An environment variable of an exec plugin."""

    name: str
    value: str = ""


class Exec(msgspec.Struct, frozen=True, rename="camel"):
    """A program that hands out credentials."""

    command: str
    api_version: str
    args: list[str] | None = None
    env: list[Variable] | None = None
    install_hint: str | None = None
    interactive_mode: str | None = None
    provide_cluster_info: bool | None = None


class User(msgspec.Struct, frozen=True, rename="kebab"):
    """Who we are."""

    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: str | None = None
    token: str | None = None
    token_file: str | None = msgspec.field(default=None, name="tokenFile")
    username: str | None = None
    password: str | None = None
    plugin: Exec | None = msgspec.field(default=None, name="exec")
    auth_provider: Any = None
    impersonated: Any = msgspec.field(default=None, name="as")


class Context(msgspec.Struct, frozen=True):
    """A cluster and a user, by name, and the namespace that commands mean when they name none."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct):
    name: str
    cluster: Cluster | None = None


class _NamedUser(msgspec.Struct):
    name: str
    user: User | None = None


class _NamedContext(msgspec.Struct):
    name: str
    context: Context | None = None


class _File(msgspec.Struct, rename="kebab"):
    clusters: list[_NamedCluster] | None = None
    users: list[_NamedUser] | None = None
    contexts: list[_NamedContext] | None = None
    current_context: str | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to one cluster: what a context amounts to. The names are for messages."""

    source: str
    cluster_name: str
    cluster: Cluster
    user_name: str
    user: User
    namespace: str = ""


def default_files() -> list[Path]:
    """Return the files that stand for no `--kubeconfig`: those in KUBECONFIG, else the one at home; may be absent."""
    listed = [name for name in os.environ.get("KUBECONFIG", "").split(os.pathsep) if name]
    # Not Path.home(): the user in an image is a number that no list of users knows, and has no home.
    return [Path(name) for name in listed] or [Path(os.path.expanduser("~/.kube/config"))]  # noqa: PTH111


def choose(files: Sequence[Path], context: str | None) -> Choice:
    """Merge the files and return what the context, or else the current one, names."""
    source = f"kubeconfig {os.pathsep.join(map(str, files))}"
    clusters, users, contexts, current = _merged(files)
    name = context if context is not None else current
    asked = "--context" if context is not None else f"{source}: current-context"
    if not name:
        raise AccessError(f"{source}: current-context is not set; name one with --context ({_listed(contexts)})")
    if name not in contexts:
        raise AccessError(f"{asked}: {name!r}: {unknown('context', name, contexts)}")
    chosen = contexts[name]
    for field, key, table in (("cluster", chosen.cluster, clusters), ("user", chosen.user, users)):
        if key not in table:
            raise AccessError(f"{source}: context {name!r}: {field}: {key!r}: {unknown(field, key, table)}")
    return Choice(source, chosen.cluster, clusters[chosen.cluster], chosen.user, users[chosen.user], chosen.namespace)


def _merged(
    files: Iterable[Path],
) -> tuple[dict[str, Cluster], dict[str, User], dict[str, Context], str | None]:
    """The first file that sets an entry or the current context wins; what others say about it is not mixed in."""
    clusters: dict[str, Cluster] = {}
    users: dict[str, User] = {}
    contexts: dict[str, Context] = {}
    current = None
    for path in files:
        folder = path.absolute().parent
        file = _read(path)
        for cluster in file.clusters or ():
            clusters.setdefault(cluster.name, _settled(cluster.cluster or Cluster(), folder))
        for user in file.users or ():
            users.setdefault(user.name, _settled(user.user or User(), folder))
        for context in file.contexts or ():
            contexts.setdefault(context.name, context.context or Context())
        current = current or file.current_context
    return clusters, users, contexts, current


def _read(path: Path) -> _File:
    try:
        document = read_one(path.read_bytes())
        if isinstance(document, Malformed):
            raise AccessError(f"kubeconfig {path}: line {document.line}: not YAML: {document.message}")
        # An empty file is an empty configuration, as `kubectl config` leaves one behind.
        return msgspec.convert(document if document is not None else {}, _File)
    except OSError as error:
        reason = error.strerror or str(error)
    except msgspec.ValidationError as error:
        found, _, field = str(error).replace("`", "").partition(" - at $.")
        reason = f"{field}: {found}" if field else found
    raise AccessError(f"kubeconfig {path}: {reason}")


def _settled(entry: _Entry, folder: Path) -> _Entry:
    """Paths are relative to the file that they stand in, wherever we were started."""
    fields = ("certificate_authority", "client_certificate", "client_key", "token_file")
    paths = {name: str(folder / value) for name in fields if (value := getattr(entry, name, None))}
    if isinstance(entry, User) and entry.plugin and os.sep in entry.plugin.command:
        command = str(folder / entry.plugin.command)
        return msgspec.structs.replace(entry, plugin=msgspec.structs.replace(entry.plugin, command=command), **paths)
    return msgspec.structs.replace(entry, **paths)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "there is none"

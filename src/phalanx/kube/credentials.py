"""Who we are to which cluster: from a kubeconfig, or from the service account of the pod that we run in.

Credentials change while a scheduler runs: the kubelet renews mounted tokens, exec plugins hand out certificates that
live for minutes. Whatever comes from a file or a program is looked at again when it is due, and after a 401.
"""

import base64
import binascii
import os
import ssl
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from phalanx.kube.clock import Clock
from phalanx.kube.exec_plugin import Credential, ExecPlugin
from phalanx.kube.kubeconfig import AccessError, Choice, choose, default_files
from phalanx.kube.proxies import proxy_for
from phalanx.kube.tls import REREAD, Pair, Source, Tls

__all__ = ["Access", "AccessError", "load_access"]

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_CLOCK = Clock()


class Credentials(Protocol):
    """Where a request's credential comes from."""

    async def current(self) -> Credential:
        """Return one that is good now."""

    def forget(self) -> None:
        """Do not trust what was remembered: the server refused it."""


class Fixed:
    """A credential that is what it is, or none at all."""

    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    async def current(self) -> Credential:
        """Return it."""
        return self._credential

    def forget(self) -> None:
        """There is no other."""


class TokenFile:
    """A token that somebody renews in a file."""

    def __init__(self, name: str, path: Path, pair: Pair | None, last: str, clock: Clock) -> None:
        self._name = name
        self._path = path
        self._pair = pair
        self._last = last
        self._clock = clock
        self._read_at: float | None = None

    async def current(self) -> Credential:
        """Return the token of at most a minute ago; the last one that could be read when the file is away."""
        if self._read_at is None or self._clock.monotonic() - self._read_at >= REREAD:
            problem = "the file is empty"
            try:
                self._last = self._path.read_text("ascii").strip() or self._last
            except (OSError, UnicodeDecodeError) as error:
                problem = getattr(error, "strerror", None) or "found no token in it"
            if not self._last:
                raise AccessError(f"{self._name}: {self._path}: {problem}")
            self._read_at = self._clock.monotonic()
        return Credential(f"Bearer {self._last}", self._pair)

    def forget(self) -> None:
        """Read the file again next time."""
        self._read_at = None


class Access:
    """The way to one API server as one identity."""

    def __init__(
        self, server: str, tls: Tls, credentials: Credentials, proxy: str | None, name: str | None, namespace: str = "",
    ) -> None:  # fmt: skip
        self.server = server
        #: What commands mean that name none.
        self.namespace = namespace or "default"
        self.proxy = proxy
        #: The name to expect in the server's certificate when it is not the one in the URL.
        self.tls_server_name = name
        self._tls = tls
        self._credentials = credentials
        #: What was shown to the server last, to say what is wrong with it.
        self.shown = Credential()

    def ssl(self) -> ssl.SSLContext:
        """Return the context for new connections: another object than before means that old ones are out of date.

        An exec plugin's certificate is in it once `authorization` was awaited.
        """
        return self._tls.context()

    async def authorization(self) -> str | None:
        """Return the header's value, if there is one, renewed when it is due."""
        self.shown = credential = await self._credentials.current()
        self._tls.present(credential.pair)
        return credential.authorization

    async def refresh(self) -> None:
        """After a 401: read files and ask plugins again, now."""
        self._credentials.forget()
        self._tls.forget()
        await self.authorization()


def load_access(kubeconfig: str | None, context: str | None) -> Access:
    """Return the way to the cluster that a file, the environment or the pod around us names, in kubectl's order."""
    if kubeconfig is not None:
        return _from_kubeconfig(choose([Path(kubeconfig)], context))
    files = default_files()
    there = [path for path in files if path.exists()]
    if there:
        return _from_kubeconfig(choose(there, context))
    if os.environ.get("KUBERNETES_SERVICE_HOST") and context is None:
        return _from_pod(SERVICE_ACCOUNT)
    absent = ", ".join(map(str, files))
    raise AccessError(f"no cluster: found no kubeconfig ({absent}) and no pod around us; name a file with --kubeconfig")


def _from_pod(folder: Path) -> Access:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT") or "443"
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    tls = Tls(folder / "ca.crt", verify=True, name="service account", clock=_CLOCK)
    token = TokenFile("service account", folder / "token", None, "", _CLOCK)
    tls.context()
    own = folder / "namespace"
    namespace = own.read_text("utf-8").strip() if own.exists() else ""
    return Access(server, tls, token, proxy_for(server, None, ""), None, namespace)


def _from_kubeconfig(choice: Choice) -> Access:
    cluster, where = choice.cluster, f"{choice.source}: cluster {choice.cluster_name!r}"
    server = (cluster.server or "").rstrip("/")
    if not _is_url(server):
        raise AccessError(f"{where}: server: found {cluster.server!r}, allowed is a URL such as https://10.0.0.1:6443")
    authority = _source(
        where, "certificate-authority", cluster.certificate_authority_data, cluster.certificate_authority
    )
    if cluster.insecure_skip_tls_verify and authority is not None:
        raise AccessError(f"{where}: found insecure-skip-tls-verify and certificate-authority, allowed is one of them")
    tls = Tls(authority, verify=not cluster.insecure_skip_tls_verify, name=where, clock=_CLOCK)
    pair = _pair(choice)
    tls.present(pair)
    tls.context()
    proxy = proxy_for(server, cluster.proxy_url, where)
    return Access(server, tls, _credentials(choice, pair, authority), proxy, cluster.tls_server_name, choice.namespace)


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _credentials(choice: Choice, pair: Pair | None, authority: Source | None) -> Credentials:
    user, where = choice.user, f"{choice.source}: user {choice.user_name!r}"
    if user.auth_provider is not None:
        raise AccessError(f"{where}: auth-provider: clients dropped it long ago, allowed is exec")
    if user.impersonated:
        raise AccessError(f"{where}: as: a scheduler acts as itself, allowed are its own credentials")
    if user.username and (user.token or user.token_file):
        raise AccessError(f"{where}: found username and token, allowed is one of them")
    if user.token_file:
        return TokenFile(f"{where}: tokenFile", Path(user.token_file), pair, user.token or "", _CLOCK)
    if user.token:
        return Fixed(Credential(f"Bearer {user.token}", pair))
    if user.plugin is not None:
        told = authority.read_bytes() if isinstance(authority, Path) else authority
        return ExecPlugin(f"{where}: exec", user.plugin, choice.cluster, told, _CLOCK)
    if user.username:
        basic = base64.b64encode(f"{user.username}:{user.password or ''}".encode()).decode()
        return Fixed(Credential(f"Basic {basic}", pair))
    return Fixed(Credential(None, pair))


def _pair(choice: Choice) -> Pair | None:
    user, where = choice.user, f"{choice.source}: user {choice.user_name!r}"
    certificate = _source(where, "client-certificate", user.client_certificate_data, user.client_certificate)
    key = _source(where, "client-key", user.client_key_data, user.client_key)
    if (certificate is None) != (key is None):
        raise AccessError(f"{where}: found one of client-certificate and client-key, allowed is both or none")
    return Pair(where, certificate, key) if certificate is not None and key is not None else None


def _source(where: str, field: str, data: str | None, path: str | None) -> Source | None:
    """Return what a kubeconfig gives inside itself, which goes before the file that it names."""
    if not data:
        return Path(path) if path else None
    try:
        return base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        raise AccessError(f"{where}: {field}-data: found {len(data)} characters that are no base64") from None

"""TLS contexts from certificates that may change under us, without leaving a key on any disk."""

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from phalanx.kube.clock import Clock
from phalanx.kube.kubeconfig import AccessError

#: Files are looked at again this often, in seconds: the kubelet renews what it mounts well before it expires.
REREAD = 60.0

#: What a kubeconfig gives inside itself, or the file that it names.
Source = bytes | Path


@dataclass(frozen=True, slots=True)
class Pair:
    """A client certificate and its key, and what to call them in a message."""

    name: str
    certificate: Source
    key: Source


@dataclass(frozen=True, slots=True)
class _Material:
    authority: bytes | None
    certificate: bytes
    key: bytes


class Tls:
    """How to know the server, and who we say we are. The context is replaced only when the bytes behind it changed."""

    def __init__(self, authority: Source | None, *, verify: bool, name: str, clock: Clock) -> None:
        self.pair: Pair | None = None
        self._authority = authority
        self._verify = verify
        self._name = name
        self._clock = clock
        self._material: _Material | None = None
        self._context: ssl.SSLContext | None = None
        self._read_at = 0.0

    def present(self, pair: Pair | None) -> None:
        """Show this certificate from now on."""
        if pair != self.pair:
            self.pair = pair
            self.forget()

    def forget(self) -> None:
        """Look at the files again at the next opportunity."""
        self._read_at = -REREAD

    def context(self) -> ssl.SSLContext:
        """Return the context of this moment: the same object for as long as nothing changed."""
        if self._context is None:
            self._load()
        elif self._clock.monotonic() - self._read_at >= REREAD:
            try:
                self._load()
            except AccessError:
                # Caught between two writes of a renewal: certificate and key do not match yet. What worked so far
                # works a little longer.
                self._read_at = self._clock.monotonic()
        assert self._context
        return self._context

    def _load(self) -> None:
        pair = self.pair
        material = _Material(
            bytes_of(self._authority, self._name) if self._authority is not None else None,
            bytes_of(pair.certificate, pair.name) if pair else b"",
            bytes_of(pair.key, pair.name) if pair else b"",
        )
        if material != self._material:
            self._context = self._built(material)
            self._material = material
        self._read_at = self._clock.monotonic()

    def _built(self, material: _Material) -> ssl.SSLContext:
        context = _trusting(material.authority, self._name)
        if not self._verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.pair:
            _show(context, self.pair.name, material)
        return context


def _trusting(authority: bytes | None, name: str) -> ssl.SSLContext:
    """Return a context that trusts this authority alone, or the system's when there is none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    # Authorities of many clusters lack extensions that the strict rules of newer Pythons ask for; Go does not ask.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if authority is None:
        context.load_default_certs()
        return context
    try:
        context.load_verify_locations(cadata=authority.decode("ascii"))
    except (ssl.SSLError, ValueError):
        raise AccessError(f"{name}: certificate-authority: found no certificate in it, allowed is PEM") from None
    return context


def _show(context: ssl.SSLContext, name: str, material: _Material) -> None:
    try:
        with _as_file(material.certificate) as certificate, _as_file(material.key) as key:
            context.load_cert_chain(certificate, key, password=_no_password)
    except _EncryptedError:
        raise AccessError(f"{name}: client-key: found an encrypted key, allowed is one without a passphrase") from None
    except ssl.SSLError as error:
        what = "the key is of another certificate" if error.reason == "KEY_VALUES_MISMATCH" else "found no PEM pair"
        raise AccessError(f"{name}: client-certificate and client-key: {what}") from None


class _EncryptedError(Exception):
    """A key asks for its passphrase."""


def _no_password() -> str:
    # Without this OpenSSL asks on the terminal, and a scheduler waits for an answer for ever.
    raise _EncryptedError


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """Yield a path for OpenSSL, which takes nothing else: in memory where there are such files."""
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("pem"), "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
    else:
        import tempfile  # noqa: PLC0415 (no Linux needs it)

        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            yield file.name


def bytes_of(source: Source, name: str) -> bytes:
    """Return what is inside a kubeconfig or in the file that it names."""
    if isinstance(source, bytes):
        return source
    try:
        return source.read_bytes()
    except OSError as error:
        raise AccessError(f"{name}: {source}: {error.strerror}") from None

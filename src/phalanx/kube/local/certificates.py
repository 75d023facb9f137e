"""The certificates of one control plane: its own authority, and keys for every server and user under it."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

try:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
except ModuleNotFoundError:
    # A scheduler signs nothing: only who starts a control plane of his own needs it.
    message = "a local control plane needs the package cryptography; install phalanx[playground]"
    raise ModuleNotFoundError(message, name="cryptography") from None

SERVER_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
SERVER_ADDRESSES = ("127.0.0.1", "::1", "10.0.0.1")

# Long before and after any clock that could look at them: a control plane lives for minutes, and a test may turn the
# clock of one process by hours.
_FROM = datetime(2020, 1, 1, tzinfo=UTC)
_UNTIL = _FROM + timedelta(days=365 * 100)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes

    def write(self, folder: Path, name: str) -> None:
        """Write NAME.crt and NAME.key, the key for this user's eyes."""
        (folder / f"{name}.crt").write_bytes(self.certificate)
        write_private(folder / f"{name}.key", self.key)


class Authority:
    """A certificate authority that lives in memory and signs servers and clients."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("phalanx-local")
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        certificate = (
            _unsigned(self._name, self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self.pair = Pair(certificate.public_bytes(serialization.Encoding.PEM), _private_pem(self._key))

    def server(self) -> Pair:
        """Return a pair for an API server on this machine, also when it is reached through a proxy on loopback."""
        names: list[x509.GeneralName] = [x509.DNSName(name) for name in SERVER_NAMES]
        names += [x509.IPAddress(ipaddress.ip_address(address)) for address in SERVER_ADDRESSES]
        return self._sign(_name("kube-apiserver"), ExtendedKeyUsageOID.SERVER_AUTH, x509.SubjectAlternativeName(names))

    def client(self, user: str, groups: Sequence[str] = ()) -> Pair:
        """Return a pair with which the API server takes its bearer for a user in these groups."""
        return self._sign(_name(user, groups), ExtendedKeyUsageOID.CLIENT_AUTH)

    def _sign(self, name: x509.Name, usage: x509.ObjectIdentifier, *extensions: x509.ExtensionType) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = _unsigned(name, self._name, key.public_key()).add_extension(issuer, critical=False)
        for extension in (x509.ExtendedKeyUsage([usage]), *extensions):
            builder = builder.add_extension(extension, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return Pair(certificate.public_bytes(serialization.Encoding.PEM), _private_pem(key))


def write_service_account_keys(folder: Path) -> None:
    """Write the pair with which service account tokens are signed and checked."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    (folder / "service-accounts.pub").write_bytes(public)
    write_private(folder / "service-accounts.key", _private_pem(key))


def write_private(path: Path, content: bytes) -> None:
    """Write a file that nobody else can read, from its first moment."""
    path.touch(mode=0o600)
    path.write_bytes(content)


def _name(user: str, groups: Sequence[str] = ()) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, user)])


def _unsigned(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(_FROM)
        .not_valid_after(_UNTIL)
    )


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )

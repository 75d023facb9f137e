"""What is wrong between us and the API server: a few troubles, each with one short text for all who meet it."""

import ssl
from dataclasses import dataclass
from enum import Enum
from socket import gaierror

from phalanx.kube.client import Reply, Unanswered
from phalanx.kube.kubeconfig import AccessError
from phalanx.kube.wire.connection import Lost

_WORDS = (
    (TimeoutError, "no answer in time"),
    (ConnectionRefusedError, "connection refused"),
    ((ConnectionResetError, BrokenPipeError, Lost), "connection lost"),
)


class Trouble(Enum):
    """A state that lasts, with the words in which its beginning and its end are logged."""

    AWAY = ("api-server-away", "api-server-back")
    UNTRUSTED = ("api-server-untrusted", "api-server-trusted")
    CREDENTIALS = ("credentials-refused", "credentials-accepted")
    RIGHTS = ("rights-missing", "rights-granted")
    NAMESPACE = ("namespace-missing", "namespace-there")
    REFUSED = ("requests-refused", "requests-answered")


@dataclass(frozen=True, slots=True)
class Fault:
    """One trouble as somebody met it."""

    trouble: Trouble
    why: str
    #: The command or the step that mends it.
    remedy: str | None = None
    #: Found at the start, it ends the process: waiting does not help.
    hopeless: bool = False
    #: Nothing can be decided, or nothing carried out, for as long as it lasts.
    blocking: bool = True


def silent(silence: Unanswered) -> Fault:
    """Return the fault behind a request that got no answer."""
    error = silence.__cause__
    if isinstance(error, AccessError):
        return Fault(Trouble.CREDENTIALS, str(error))
    if isinstance(error, ssl.SSLCertVerificationError):
        why = f"its certificate is not trusted: {error.verify_message}"
        remedy = "give the certificate of its authority in the kubeconfig, as certificate-authority of the cluster"
        return Fault(Trouble.UNTRUSTED, why, remedy, hopeless=True)
    return Fault(Trouble.AWAY, _words(error) if error is not None else str(silence))


def refused(reply: Reply) -> Fault:
    """Return the fault behind an answer that is a refusal."""
    match reply.status:
        case 401:
            return Fault(Trouble.CREDENTIALS, f"the API server does not accept them: {reply.message}", hopeless=True)
        case 403 if " cannot " in reply.message:
            # So every authorizer says it; an admission plugin's refusal has other words and another remedy.
            return Fault(Trouble.RIGHTS, reply.message)
        case 429:
            return Fault(Trouble.AWAY, f"it is overloaded: {reply.message}")
        case status if status >= 500:
            return Fault(Trouble.AWAY, f"it answers {reply.message}")
        case _:
            return Fault(Trouble.REFUSED, reply.message)


def _words(error: BaseException) -> str:
    """Name an error in words that are the same for every request that met it."""
    for kinds, words in _WORDS:
        if isinstance(error, kinds):
            return words
    if isinstance(error, gaierror):
        return f"its name is not known: {error.strerror}"
    text = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
    return f"{type(error).__name__} {text}".strip()

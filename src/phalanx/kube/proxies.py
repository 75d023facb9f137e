"""Which proxy leads to the API server: the one its cluster names, else the environment's, as kubectl has it."""

import ipaddress
import os
from contextlib import suppress
from urllib.parse import urlsplit

from phalanx.kube.kubeconfig import AccessError


def proxy_for(server: str, named: str | None, where: str) -> str | None:
    """Return the URL of the proxy to use for a server, if any."""
    if named:
        return _checked(named, f"{where}: proxy-url")
    parts = urlsplit(server)
    found = _named_by_environment(parts.scheme)
    if not found or _direct(parts.hostname or ""):
        return None
    return _checked(found if "://" in found else f"http://{found}", f"{parts.scheme.upper()}_PROXY")


def _named_by_environment(scheme: str) -> str | None:
    """Return `https_proxy` or HTTPS_PROXY. urllib has the same, and takes as long to load as the rest of our client."""
    if scheme == "http" and "REQUEST_METHOD" in os.environ:
        # A CGI program: HTTP_PROXY is what somebody sent as the header Proxy.
        return os.environ.get("http_proxy")
    return os.environ.get(f"{scheme}_proxy") or os.environ.get(f"{scheme.upper()}_PROXY")


def _checked(url: str, where: str) -> str:
    scheme = urlsplit(url).scheme
    if scheme not in {"http", "https"}:
        # Not the URL itself: it may carry a password.
        raise AccessError(f"{where}: found a proxy of scheme {scheme!r}, allowed are http and https")
    return url


def _direct(host: str) -> bool:
    """Tell whether a host is reached without a proxy: NO_PROXY names hosts, domains and address ranges."""
    excepted = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    address = None
    with suppress(ValueError):
        address = ipaddress.ip_address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    for entry in excepted.replace(" ", "").lower().split(","):
        with suppress(ValueError):
            if address is not None and address in ipaddress.ip_network(entry, strict=False):
                return True
        domain = entry.rpartition(":")[0] or entry
        if domain in {"*", host} or (domain and host.endswith(f".{domain.lstrip('.')}")):
            return True
    return False

"""Who may talk to this server: no web page of somebody else's, under whatever name. Above: the edge. Below: errors.

A page on the internet can make a browser send requests to a loopback port, and a name that resolves to 127.0.0.1
makes them same-origin. So on TCP the Host must be a name of this machine, and an Origin, where one comes, the same
place as the Host. A unix socket is out of a browser's reach. Source: reference/known-faults.md A-02, A-03.
"""

from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import Scope

from fabro.errors import FabroError, Forbidden, InvalidInput
from fabro.server.errors import UNSUPPORTED

DEFAULT_PORTS = {"http": 80, "https": 443}
_READS = frozenset({"GET", "HEAD", "OPTIONS"})


def check(scope: Scope) -> None:
    """Let a request pass or refuse it.

    Raises:
        Forbidden: `host_not_allowed`, `origin_not_allowed`.
        InvalidInput: `unsupported_media_type`: a write with a body that is not said to be JSON.
    """
    headers = Headers(scope=scope)
    if not is_unix(scope):
        check_host(headers.getlist("host"))
        check_origin(headers.getlist("origin"), headers["host"])
    if scope["method"] not in _READS:
        _check_content_type(headers)


def is_unix(scope: Scope) -> bool:
    """Whether the request came over a unix socket, which alone has a path and no port."""
    server = scope.get("server")
    return server is not None and server[1] is None and str(server[0]).startswith("/")


def check_host(hosts: Sequence[str]) -> None:
    """Refuse requests that were not addressed to a loopback name, with any port.

    Raises:
        Forbidden: `host_not_allowed`.
    """
    place = _place(f"http://{hosts[0]}") if len(hosts) == 1 else None
    if place is None or not is_loopback(place[0]):
        raise Forbidden(
            f"host {', '.join(hosts)!r} is not served here",
            code="host_not_allowed",
            hint="Use localhost, 127.0.0.1 or [::1].",
        )


def check_origin(origins: Sequence[str], host: str) -> None:
    """Refuse requests that a page of another origin makes. A default port may be left out on either side.

    Raises:
        Forbidden: `origin_not_allowed`.
    """
    if not origins:
        return
    scheme = urlsplit(origins[0]).scheme.lower() if len(origins) == 1 else ""
    place = _place(origins[0]) if scheme in DEFAULT_PORTS else None
    if place is None or place != _place(f"{scheme}://{host}"):
        raise Forbidden(f"pages of {', '.join(origins)!r} may not use this server", code="origin_not_allowed")


def is_loopback(name: str) -> bool:
    """Whether the name or address can only mean this machine."""
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def _place(url: str) -> tuple[str, int] | None:
    """Name and port of an origin; None when it is more or less than one."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if not parts.hostname or parts.path or parts.query or parts.fragment or "@" in parts.netloc:
        return None
    return parts.hostname, port if port is not None else DEFAULT_PORTS[parts.scheme]


def _check_content_type(headers: Headers) -> None:
    has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    said = headers.get("content-type", "")
    kind = said.partition(";")[0].strip().lower()
    if (has_body or said) and kind != "application/json":
        raise InvalidInput(
            f"content-type is {said!r}; wanted application/json", code=UNSUPPORTED, hint="Send JSON."
        )


def refusal(scope: Scope) -> FabroError | None:
    """What `check` has against the request."""
    try:
        check(scope)
    except FabroError as error:
        return error
    return None

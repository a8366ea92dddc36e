"""Who may send to the service, and where it may listen.

On the loopback interface everybody on the machine may. To listen elsewhere there must be a token; TLS keeps it, and
what the spans tell, from those on the way.
"""

from __future__ import annotations

import hmac
import ipaddress
import ssl
from dataclasses import dataclass, field
from pathlib import Path

from spanwise.errors import SpecError

_SCHEME = b"bearer "
_LONGEST = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """The files of the server's certificate, with those that vouch for it, and of its private key, both PEM."""

    cert: Path
    key: Path

    def check(self) -> None:
        """Make sure that the files can be used.

        Raises:
            SpecError: One cannot be read, is no PEM, or the two do not belong together.
        """
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.cert, self.key, password=_no_password)
        except (OSError, ValueError) as failure:
            words = (failure.strerror or str(failure)) if isinstance(failure, OSError) else str(failure)
            raise SpecError(
                f"tls_cert {str(self.cert)!r} and tls_key {str(self.key)!r} cannot be used: {words}; both must be PEM"
                " files, and the key must be that of the certificate, without a passphrase"
            ) from failure


def _no_password() -> str:
    raise ValueError("the key has a passphrase")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What a sender must show: the token, if there is one; and what it is shown: the certificate, if there is one."""

    token: bytes | None = field(default=None, repr=False)
    tls: Tls | None = None

    def allows(self, authorization: str | bytes | None) -> bool:
        """Whether this header's value opens the door; how long that takes tells nothing of the token."""
        if self.token is None:
            return True
        given = authorization.encode(errors="replace") if isinstance(authorization, str) else authorization or b""
        is_bearer = given[: len(_SCHEME)].lower() == _SCHEME
        return hmac.compare_digest(given[len(_SCHEME) :].strip(), self.token) and is_bearer


def token_of(text: str, *, where: str) -> bytes:
    """The token that a setting or a file holds, without the blanks around it.

    Raises:
        SpecError: It holds none, or what no header can carry.
    """
    token = text.strip()
    if not token:
        raise SpecError(f"{where} holds no token: write one line of text into it that is hard to guess")
    if len(token) > _LONGEST or not all(" " < letter <= "~" for letter in token):
        raise SpecError(f"{where} holds no usable token: one word of printable ASCII, at most {_LONGEST} letters")
    return token.encode()


def read_token(path: Path, *, called: str = "token_file") -> bytes:
    """The token in a file, which errors call as the setting that named it is called.

    Raises:
        SpecError: The file cannot be read, or holds none.
    """
    try:
        with path.open("rb") as file:
            content = file.read(2 * _LONGEST)
    except (OSError, ValueError) as failure:
        words = (failure.strerror or str(failure)) if isinstance(failure, OSError) else str(failure)
        raise SpecError(f"{called} {str(path)!r} cannot be read: {words}") from failure
    return token_of(content.decode(errors="replace"), where=f"{called} {str(path)!r}")


def host_and_port(address: str) -> tuple[str, int]:
    """The host and the port of an address such as `127.0.0.1:4317`, `localhost:0` or `[::1]:4318`.

    Raises:
        SpecError: It is no such address.
    """
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
    is_number = port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) < 1 << 16
    if not colon or not host or not is_number or (":" in host and not address.startswith("[")):
        raise SpecError(f"the address {address!r} is not host:port, such as 127.0.0.1:4317 or [::1]:4317")
    return host, int(port)


def is_loopback(address: str) -> bool:
    """Whether nobody outside this machine can reach an address (host:port, or a host alone)."""
    host = address
    if address.startswith("[") or address.count(":") == 1:
        host, _ = host_and_port(address)
    if host.lower() == "localhost":
        return True
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_loopback


def check_listening(address: str, access: Access) -> None:
    """Make sure that an address may be listened on with this access.

    Raises:
        SpecError: It can be reached from elsewhere and there is no token, or it is no address.
    """
    host_and_port(address)
    if not is_loopback(address) and access.token is None:
        raise SpecError(
            f"{address!r} can be reached from other machines: set token_file and, on a network that others use,"
            " tls_cert and tls_key; or listen on 127.0.0.1"
        )

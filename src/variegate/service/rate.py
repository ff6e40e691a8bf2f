"""How many requests a second each client may make."""

from typing import Final

_MOST_CLIENTS: Final = 10_000


class Buckets:
    """A token bucket for each client; a client not seen for long is forgotten.

    Parameters
    ----------
    rate
        Tokens that come in each second.
    size
        Tokens that a bucket holds: as many requests may come at once.

    Examples
    --------
    >>> buckets = Buckets(rate=2, size=1)
    >>> buckets.wait("a", now=0.0), buckets.wait("a", now=0.0), buckets.wait("a", now=0.5)
    (0.0, 0.5, 0.0)
    """

    def __init__(self, rate: float, size: float) -> None:
        self.rate, self.size = rate, max(size, 1.0)
        #: Tokens and when they were counted, the client seen longest ago first
        self._levels: dict[str, tuple[float, float]] = {}

    def wait(self, client: str, now: float) -> float:
        """Take a token and return 0, or return the seconds until there is one."""
        tokens, then = self._levels.pop(client, (self.size, now))
        tokens = min(self.size, tokens + (now - then) * self.rate)
        is_free = tokens >= 1
        self._levels[client] = (tokens - 1 if is_free else tokens, now)
        if len(self._levels) > _MOST_CLIENTS:
            # Memory stays bounded whatever addresses come; who is forgotten starts afresh.
            del self._levels[next(iter(self._levels))]
        return 0.0 if is_free else (1 - tokens) / self.rate


def client_of(address: str) -> str:
    """Return what an address is counted as: one person has all of an IPv6 /64."""
    if ":" not in address:
        return address
    from ipaddress import AddressValueError, IPv6Address

    try:
        number = IPv6Address(address.partition("%")[0])
    except AddressValueError:
        return address[:64]
    if number.ipv4_mapped is not None:
        return str(number.ipv4_mapped)
    return f"{int(number) >> 64:x}"

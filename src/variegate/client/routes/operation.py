"""How the service does."""

from variegate.client.answers import Report
from variegate.client.call import Call, Repeat
from variegate.client.reading import reading


def report() -> Call[Report]:
    """Compare the policies on the users they got, with intervals. Needs an admin key."""
    return Call("GET", "/v1/report", reading(Report))


def ping() -> Call[None]:
    """Do nothing but try the address and the key."""
    return Call("GET", "/v1/ping", lambda _body: None)


def metrics() -> Call[str]:
    """Return the service's numbers as Prometheus reads them."""
    return Call("GET", "/metrics", lambda body: body.decode())


def alive() -> Call[None]:
    """Ask whether the process is alive."""
    return Call("GET", "/healthz", lambda _body: None, repeat=Repeat.NEVER)


def ready() -> Call[None]:
    """Ask whether the store can be reached."""
    return Call("GET", "/readyz", lambda _body: None, repeat=Repeat.NEVER)

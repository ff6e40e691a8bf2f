"""What policies begin with: looked at, fitted anew, given up."""

from variegate.client.answers import Prior
from variegate.client.call import Call, Repeat
from variegate.client.reading import reading
from variegate.client.requesting import quoted


def prior(policy: str) -> Call[Prior]:
    """Return what new users of a policy are believed to want. Needs an admin key."""
    return Call("GET", _path(policy), reading(Prior))


def fit_prior(policy: str) -> Call[Prior]:
    """Fit what users begin with to those that there are; return it. Needs an admin key.

    With few users that is a ConflictError. With many it takes a while: give the client a
    `timeout` of minutes.
    """
    return Call("POST", _path(policy), reading(Prior), repeat=Repeat.NOT_DONE)


def drop_prior(policy: str) -> Call[Prior]:
    """Go back to what the policy's line says of its prior. Needs an admin key."""
    return Call("DELETE", _path(policy), reading(Prior))


def _path(policy: str) -> str:
    return f"/v1/policies/{quoted('policy', policy)}/prior"

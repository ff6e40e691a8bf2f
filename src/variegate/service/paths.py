"""Ids in paths: an id is one segment, percent-encoded, whatever characters it has.

A server hands over the path already decoded, in which a slash of an id looks like a separator.
So the path is decoded here, segment by segment, and the slashes inside segments stay encoded
until the route is found.
"""

from typing import Final
from urllib.parse import parse_qsl, unquote

#: Stands for the id that the query names.
PLACEHOLDER: Final = "~"
#: Names the id in a query.
QUERY_NAME: Final = "id"


def routable(raw_path: bytes, query: bytes) -> str:
    """Return a path to find a route by; `decoded` gives the text of its segments.

    A segment that is `~` alone is replaced by the query's `id`, if there is one: for clients and
    proxies that decode %2F or that resolve the segments `.` and `..`.

    Examples
    --------
    >>> routable(b"/v1/users/a%2Fb%3F/history", b"")
    '/v1/users/a%2Fb?/history'
    >>> routable(b"/v1/users/~/history", b"id=a%2Fb")
    '/v1/users/a%2Fb/history'
    """
    segments = [unquote(segment) for segment in raw_path.decode("latin-1").split("/")]
    if PLACEHOLDER in segments:
        named = dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True))
        segments[segments.index(PLACEHOLDER)] = named.get(QUERY_NAME, PLACEHOLDER)
    return "/".join(segment.replace("%", "%25").replace("/", "%2F") for segment in segments)


def decoded(segment: str) -> str:
    """Return the text of a segment of a routable path.

    Examples
    --------
    >>> decoded("a%2Fb"), decoded("100%25")
    ('a/b', '100%')
    """
    return segment.replace("%2F", "/").replace("%25", "%")

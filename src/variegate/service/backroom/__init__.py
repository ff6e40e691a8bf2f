"""The back room: a process of its own that works lists out, beside the one that speaks HTTP.

Python runs one thread of a process at a time, so lists and HTTP in one process share one core.
The two are tied by a pair of sockets. What is known of users is in the store alone: the room can
be lost at any moment, as the whole service can, and another is opened in its place.
"""

from variegate.service.backroom.messenger import Messenger

__all__ = ["Messenger"]

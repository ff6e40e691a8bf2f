"""All that the service can do, told without HTTP: lists, feedback, users, items."""

from variegate.engine.arms import Arms
from variegate.engine.desk import Desk
from variegate.engine.listing import Wish
from variegate.engine.reporting import Report
from variegate.engine.rules import Rules
from variegate.engine.shelf import Shelf

__all__ = ["Arms", "Desk", "Report", "Rules", "Shelf", "Wish"]

"""All that the service can do, told without HTTP: lists, feedback, users, items."""

from variegate.service.desk.arms import Arms
from variegate.service.desk.desk import Desk
from variegate.service.desk.listing import Wish
from variegate.service.desk.reporting import Report
from variegate.service.desk.rules import Rules
from variegate.service.desk.shelf import Shelf

__all__ = ["Arms", "Desk", "Report", "Rules", "Shelf", "Wish"]

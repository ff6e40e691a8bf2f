"""Under which keys `meta` notes what."""

from typing import Final

#: The version of the tables
SCHEMA: Final = "schema"
#: Which catalogue the items are of
CATALOGUE: Final = "catalogue"
#: A number that grows with every change of items, or of what policies begin with
ITEMS_REVISION: Final = "items_revision"
#: A number that grows with every change of keys
KEYS_REVISION: Final = "keys_revision"
#: How the running sums were counted
SUMS: Final = "sums"

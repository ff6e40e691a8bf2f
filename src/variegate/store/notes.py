"""Under which keys `meta` notes what; how long what changes all of a store may take."""

from typing import Final

#: The version of the tables
SCHEMA: Final = "schema"
#: The settings that all replicas share
CONFIGURATION: Final = "configuration"
#: The fingerprints of the catalogue that the items are of
CATALOGUE: Final = "catalogue"
#: How far users have been learnt again for another catalogue; empty when that is done
RELEARNING: Final = "relearning"
#: A number that grows with every change of items, or of what policies begin with
ITEMS_REVISION: Final = "items_revision"
#: The revision of the items from which on their history is kept; 0 if there is no note
ITEMS_HISTORY: Final = "items_history"
#: A number that grows with every change of keys
KEYS_REVISION: Final = "keys_revision"
#: How the running sums were counted
SUMS: Final = "sums"
#: Seconds for one statement that changes tables or counts a whole history, and to wait for another
#: process that does so
CHANGING_SECONDS: Final = 300.0

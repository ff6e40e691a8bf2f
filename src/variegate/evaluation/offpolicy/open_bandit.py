"""Logs in the format of the Open Bandit Dataset (Saito et al., 2021, arXiv 2008.07146).

A CSV file with a row for each impression: the columns `item_id`, `position`, `click`,
`propensity_score`, and `user_feature_0` to `user_feature_3`, which are hashed. The three items of
a page are not linked to each other, so each row is a list of one item. Users have no ids; those
with the same features count as one, from whom a policy learns.
"""

from typing import Final

import numpy as np

from variegate.data.table_reader import read_table
from variegate.errors import DataError
from variegate.evaluation.offpolicy.logs import SlateLog, slate_log
from variegate.files import PathLike
from variegate.model.catalogue import Catalogue

_FEATURES: Final = tuple(f"user_feature_{number}" for number in range(4))
_NUMBERS: Final = ("position", "click", "propensity_score")


def read_open_bandit(
    path: PathLike, catalogue: Catalogue, *, position: int | None = None
) -> SlateLog:
    """Read a log of the Open Bandit Dataset; its rows are in the order of time.

    Parameters
    ----------
    path
        A file such as ``random/men/men.csv``.
    catalogue
        The items of the campaign, with their `item_id` as ids, as `variegate build items
        item_context.csv --id item_id` makes it.
    position
        Only impressions at this position, 1, 2 or 3; all, if not given.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> header = "item_id,position,click,propensity_score,"
    >>> header += ",".join(f"user_feature_{n}" for n in range(4))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "men.csv")
    ...     _ = path.write_text(f"{header}\\n1,2,1,0.5,a,b,c,d\\n")
    ...     log = read_open_bandit(path, Catalogue(["0", "1"], np.eye(2), "cosine"))
    >>> log.items, log.propensities, log.users
    (array([[1]]), array([[0.5]]), ('a b c d',))
    """
    rows = read_table(path, ["item_id", *_NUMBERS, *_FEATURES], encoding="utf-8", separator=None)
    ids = rows.ids("item_id").to_list()
    places, clicks, propensities = (rows.numbers(name, missing=()) for name in _NUMBERS)
    features = [rows.text(name).to_list() for name in _FEATURES]
    users = [" ".join(own) for own in zip(*features, strict=True)]
    kept = np.flatnonzero(np.ones(len(ids)) if position is None else places == position)
    if not len(kept):
        raise DataError(f"{rows.where}: has no impressions at position {position}")
    unknown = set(ids) - set(catalogue.ids)
    if unknown:
        raise DataError(
            f"{rows.where}: item {min(unknown)!r} is not in the catalogue: build it from the "
            "item_context.csv of the same campaign"
        )
    items = np.asarray(catalogue.rows(ids))[kept, None]
    return slate_log(
        items,
        clicks[kept, None],
        propensities[kept, None],
        users=[users[row] for row in kept],
    )

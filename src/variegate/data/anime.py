"""The Anime Recommendations Database, as distributed by Kaggle."""

from dataclasses import replace
from html import unescape

from variegate.data.dataset import Dataset, check_threshold, implicit_feedback
from variegate.data.table_reader import Layout, read_delimited
from variegate.data.tables import ItemColumns, items_from, wanted_columns
from variegate.files import PathLike, read_member

#: The site's mean rating and number of members are left out: they are other users' feedback.
_COLUMNS: ItemColumns = {
    "title": "name",
    "numbers": ["episodes"],
    "categories": ["type"],
    "lists": ["genre"],
    "list_separator": ",",
    "missing": ["", "Unknown"],
}


def load_anime(path: PathLike, *, threshold: float = 6.0) -> Dataset:
    """Read `anime.csv` and `rating.csv` from their zip, or from the folder it was unpacked to.

    Ratings greater than `threshold` are likes, as in the paper. A rating of -1 means "watched,
    not rated", which is no like. Genres are the categories; an anime may have none.
    """
    checked = check_threshold(threshold)
    content, where = read_member(path, "anime.csv", inner="anime")
    rows = read_delimited(content, where, Layout(), ["anime_id", *wanted_columns(_COLUMNS)])
    table = items_from(rows, "anime_id", _COLUMNS)
    table = replace(
        table,
        titles=tuple(map(unescape, table.titles)),
        lists={"genres": table.lists["genre"]},
    )
    rated = ("user_id", "anime_id", "rating")
    content, where = read_member(path, "rating.csv", inner="anime")
    ratings = read_delimited(content, where, Layout(), rated)
    return implicit_feedback(
        "anime", ratings, rated, threshold=max(checked, -1.0), item_table=table
    )

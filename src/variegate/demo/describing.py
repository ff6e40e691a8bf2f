"""What is known of an item, in short."""

from typing import Any, Final

from variegate.model.catalogue import Catalogue

#: Longer texts are cut.
MOST_CHARACTERS: Final = 40


def shown_attributes(catalogue: Catalogue, *, most: int = 3) -> tuple[str, ...]:
    """Return the names of the attributes worth showing beside a title.

    Those that a distance is named after ("years" is named after "year"), for they say what makes
    items differ; where there are none, the first ones. At most `most`, in the catalogue's order.
    """
    measured = {_stem(h.name) for h in catalogue.distances}
    named = [name for name in catalogue.attributes if _stem(name) in measured]
    return tuple((named or list(catalogue.attributes))[:most])


def in_short(value: Any, *, most: int = 3) -> tuple[str, ...]:
    """Return an attribute's value as a few short texts: the first `most` of a list's, else one.

    What is not known has none.

    Examples
    --------
    >>> in_short(["Drama", "Crime", "War", "Sport"])
    ('Drama', 'Crime', 'War')
    >>> in_short(1999), in_short(None)
    (('1999',), ())
    """
    if value is None or value == "":
        return ()
    if isinstance(value, (list, tuple, set, frozenset)):
        entries = sorted(map(str, value)) if isinstance(value, (set, frozenset)) else value
        return tuple(text for entry in list(entries)[:most] for text in in_short(entry))
    if isinstance(value, float):
        return (f"{value:g}",)
    text = " ".join(str(value).split())
    return (text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…",)


def _stem(name: str) -> str:
    return name.lower().removesuffix("s")

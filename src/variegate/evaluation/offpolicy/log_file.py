"""A log of lists as a file of JSON lines.

One line per list, in the order shown::

    {"user": "ann", "items": ["heat", "alien"], "propensities": [0.5, 0.25],
     "rewards": [1, 0], "seen": [true, true]}

(on one line). `items` are ids, from the top of the list down; `propensities` the probability of
each given those above it, greater than 0 and at most 1; `rewards` numbers from 0 to 1;
`seen` which positions the user looked at, all if missing, and a reward is 0 where nothing was
seen. `user` may be null or missing.

These keys describe what the list was chosen from; each is optional:

- `candidates`: the ids that could be chosen. Or `exclude`: the ids that could not, and
  `catalogue_size`: how many items the catalogue had then (its first ones; all, if missing).
  Without these keys a list counts as chosen from all items of the catalogue. An empty list of
  `candidates` means that they are not known: such a list is not evaluated, only learnt from.
- `mix`: the probability with which each position took a random candidate.
- `dial`: the dial of the request, ``{"scale": 1.0, "floor": null, "ceiling": null}``.
- `policy`: the name of the policy that chose the list.

Other keys and blank lines are ignored.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from variegate.arrays import MaskArray, check_fraction
from variegate.errors import DataError, InputError, NotFoundError
from variegate.evaluation.offpolicy.logs import LoggedSlate, SlateLog, SlateTerms, slate_log
from variegate.files import atomic_write
from variegate.model.catalogue import Catalogue
from variegate.policies import Dial

_COLUMNS = ("propensities", "rewards", "seen")
_TERMS = ("candidates", "exclude", "catalogue_size", "mix", "dial", "policy")


def log_line(
    items: Sequence[str],
    rewards: Sequence[float],
    propensities: Sequence[float],
    *,
    seen: Sequence[bool] | None = None,
    user: str | None = None,
    **terms: Any,
) -> str:
    """Return one list as a line of a log, without its line end.

    `terms` are any of `candidates`, `exclude`, `catalogue_size`, `mix`, `dial` and `policy`, as
    in the file; None omits a key.

    Examples
    --------
    >>> log_line(["heat"], [1.0], [0.5], user="ann")
    '{"user": "ann", "items": ["heat"], "propensities": [0.5], "rewards": [1.0], "seen": [true]}'
    """
    unknown = terms.keys() - set(_TERMS)
    if unknown:
        raise InputError(f"`terms` must be among {', '.join(_TERMS)}, got {min(unknown)!r}")
    entry: dict[str, Any] = {
        "user": user,
        "items": list(items),
        "propensities": [float(probability) for probability in propensities],
        "rewards": [float(reward) for reward in rewards],
        "seen": [True] * len(items) if seen is None else [bool(mark) for mark in seen],
        **{name: value for name, value in terms.items() if value is not None},
    }
    return json.dumps(entry, ensure_ascii=False, allow_nan=False)


def write_log(path: str | Path, log: SlateLog, catalogue: Catalogue) -> None:
    """Write a log whose rows are those of `catalogue`, atomically."""
    if log.items.max() >= len(catalogue):
        raise InputError(f"`log` must hold rows of {catalogue}, got row {log.items.max()}")
    with atomic_write(path) as file:
        for row in range(len(log)):
            line = log_line(
                [catalogue.ids[item] for item in log.items[row]],
                log.rewards[row].tolist(),
                log.propensities[row].tolist(),
                seen=log.seen[row].tolist(),
                user=log.users[row],
                **({} if not log.terms else _fields(log.terms[row], catalogue)),
            )
            file.write(line.encode() + b"\n")


def slate_line(logged: LoggedSlate, user: str | None) -> str:
    """Return a logged list as a line of a log, without its line end."""
    terms = logged.terms if isinstance(logged.terms, SlateTerms) else None
    return log_line(
        logged.slate.ids,
        logged.rewards.tolist(),
        [] if logged.propensities is None else logged.propensities.tolist(),
        seen=logged.seen.tolist(),
        user=user,
        **(_fields(terms, logged.catalogue) or {"candidates": []}),
    )


def _fields(terms: SlateTerms | None, catalogue: Catalogue) -> dict[str, Any]:
    """Return the keys that describe what a list was chosen from, in the shorter form."""
    if terms is None:
        return {}
    dial = terms.dial
    found: dict[str, Any] = {
        "mix": terms.mix,
        "dial": dial and {"scale": dial.scale, "floor": dial.floor, "ceiling": dial.ceiling},
        "policy": terms.policy,
    }
    free, size = terms.candidates, len(terms.candidates)
    if 2 * np.count_nonzero(free) < size:
        return {"candidates": [catalogue.ids[row] for row in np.flatnonzero(free)], **found}
    others = [catalogue.ids[row] for row in np.flatnonzero(~free)]
    return {"exclude": others, "catalogue_size": size, **found}


def read_log(path: str | Path, catalogue: Catalogue, *, k: int | None = None) -> SlateLog:
    """Read lists of one length, or raise DataError with the path and the line.

    Parameters
    ----------
    catalogue
        The items; the log has its rows.
    k
        Read the lists of this length and skip the others; if not given, all lists must be as
        long as the first.
    """
    lines: list[int] = []
    lists: list[dict[str, Any]] = []
    for number, entry in _entries(path):
        shown = _check_entry(entry, f"{path}:{number}", catalogue)
        length = len(shown["items"])
        if k is not None and length != k:
            continue
        if lists and length != len(lists[0]["items"]):
            raise DataError(
                f"{path}:{number}: a list of {length} items among lists of "
                f"{len(lists[0]['items'])}: read one length at a time with `k`"
            )
        lines.append(number)
        lists.append(shown)
    if not lists:
        raise DataError(f"{path}: no lists" + ("" if k is None else f" of {k} items"))
    try:
        return _join(lists)
    except InputError:
        # All at once is fast; one by one finds the line.
        for number, shown in zip(lines, lists, strict=True):
            _check_alone(shown, f"{path}:{number}")
        raise


def _entries(path: str | Path) -> Iterator[tuple[int, Any]]:
    try:
        with Path(path).open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, _parse(line, f"{path}:{number}")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None


def _parse(line: bytes, where: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not a line of JSON: {error}") from None


def _check_entry(entry: Any, where: str, catalogue: Catalogue) -> dict[str, Any]:
    """Return the entry with rows for ids and every column of the list's length."""
    if not isinstance(entry, Mapping):
        raise DataError(f"{where}: must be an object, got {type(entry).__name__}")
    for name in ("items", "propensities", "rewards"):
        if name not in entry:
            raise DataError(f"{where}: no `{name}`")
    items = entry["items"]
    if not (isinstance(items, list) and items):
        raise DataError(f"{where}: `items` must be a list of ids, got {items!r}")
    user = entry.get("user")
    shown = {"seen": [True] * len(items), **entry, "user": None if user is None else str(user)}
    for name in _COLUMNS:
        _check_column(name, shown[name], len(items), where)
    try:
        shown["items"] = catalogue.rows(items)
        shown["terms"] = _terms_of(entry, catalogue)
    except (NotFoundError, InputError) as error:
        raise DataError(f"{where}: {error}") from None
    return shown


def _terms_of(entry: Mapping[str, Any], catalogue: Catalogue) -> SlateTerms | None:
    """Return what a list was chosen from, or raise InputError or NotFoundError."""
    given = {name: entry[name] for name in _TERMS if entry.get(name) is not None}
    if not given:
        return None
    is_assumed = not given.keys() & {"candidates", "exclude", "catalogue_size"}
    mix, dial = given.get("mix"), given.get("dial")
    if mix is not None:
        check_fraction(mix=mix)
    if dial is not None:
        _check_dial(dial)
    return SlateTerms(
        _candidates(given, catalogue),
        mix,
        None if dial is None else Dial(**dial),
        None if given.get("policy") is None else str(given["policy"]),
        is_assumed,
    )


def _check_dial(dial: Any) -> None:
    if not isinstance(dial, Mapping):
        raise InputError(f"`dial` must be an object, got {dial!r}")
    unknown = dial.keys() - {"scale", "floor", "ceiling"}
    if unknown:
        raise InputError(f"`dial` must have scale, floor or ceiling, got {min(unknown)!r}")


def _candidates(given: Mapping[str, Any], catalogue: Catalogue) -> MaskArray:
    for name in ("candidates", "exclude"):
        if not isinstance(given.get(name, []), list):
            raise InputError(f"`{name}` must be a list of ids, got {given[name]!r}")
    free = np.zeros(len(catalogue), dtype=np.bool_)
    if "candidates" in given:
        free[catalogue.rows(given["candidates"])] = True
        return free
    size = given.get("catalogue_size", len(catalogue))
    if not (isinstance(size, int) and 0 < size <= len(catalogue)):
        raise InputError(
            f"`catalogue_size` must be from 1 to {len(catalogue)}, the items of the catalogue, "
            f"got {size!r}"
        )
    free[:size] = True
    free[catalogue.rows(given.get("exclude", []))] = False
    return free


def _check_column(name: str, values: Any, length: int, where: str) -> None:
    kind = (bool,) if name == "seen" else (int, float)
    wanted = "true or false" if name == "seen" else "a number"
    if not isinstance(values, list) or len(values) != length:
        raise DataError(f"{where}: `{name}` must have {length} entries as `items`, got {values!r}")
    for value in values:
        if not isinstance(value, kind) or (name != "seen" and isinstance(value, bool)):
            raise DataError(f"{where}: `{name}` must hold {wanted} for each item, got {value!r}")


def _check_alone(shown: Mapping[str, Any], where: str) -> None:
    try:
        _join([shown])
    except InputError as error:
        raise DataError(f"{where}: {error}") from None


def _join(lists: Sequence[Mapping[str, Any]]) -> SlateLog:
    columns = {
        name: [shown[name] for shown in lists] for name in ("items", *_COLUMNS, "user", "terms")
    }
    return slate_log(
        columns["items"],
        columns["rewards"],
        columns["propensities"],
        seen=columns["seen"],
        users=columns["user"],
        terms=columns["terms"],
    )

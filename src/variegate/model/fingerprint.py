"""Fingerprints of catalogues: digests of the parts that learnt states depend on."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import FloatArray
from variegate.errors import DataError
from variegate.model.distances import Distance
from variegate.model.encoder import encoder_to_json, source_to_json

if TYPE_CHECKING:
    from variegate.model.catalogue import Catalogue

VERSION: Final = 2
#: Rows hashed at a time, so that no copy of a large catalogue is made.
_ROWS: Final = 65_536


@dataclass(frozen=True)
class Fingerprint:
    """Digests of the parts of a catalogue that learnt states depend on.

    A fingerprint is the same after saving and loading, and on every machine: numbers are rounded
    to single precision, since computed features may differ in their last digit from one processor
    to another. Titles and attributes are not part of it.
    """

    items: int
    #: Of the ids, in their order
    ids: str
    feature_names: tuple[str, ...]
    features: str
    #: Name, formula and digest of each distance, in their order
    distances: tuple[tuple[str, str, str], ...]
    mean_user: str | None
    feature_scale: str
    #: Of the encoder and the sources; None without
    encoder: str | None

    def means_the_same(self, now: "Fingerprint") -> bool:
        """Return whether items, names and shapes are equal; the numbers need not be."""
        shapes = [(name, formula) for name, formula, _ in self.distances]
        return (self.items, self.ids, self.feature_names, shapes) == (
            now.items,
            now.ids,
            now.feature_names,
            [(name, formula) for name, formula, _ in now.distances],
        )

    def differences(self, now: "Fingerprint") -> tuple[str, ...]:
        """Return the differences of a later catalogue, a phrase each.

        An encoder where there was none before is not a difference.
        """
        if now.items < self.items:
            gone = self.items - now.items
            return (f"{gone} items are gone: it has {now.items}, and there were {self.items}",)
        found = [*self._about_items(now), *self._about_distances(now)]
        if self.mean_user != now.mean_user:
            found.append("the mean user differs")
        if self.feature_scale != now.feature_scale:
            found.append("the scale of the features differs")
        if self.encoder not in (None, now.encoder):
            found.append("the encoder differs")
        return tuple(found)

    def to_json(self) -> dict[str, Any]:
        """Return the fingerprint as JSON values."""
        return {"version": VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, described: Mapping[str, Any]) -> "Fingerprint":
        """Return the fingerprint from its JSON values, or raise DataError."""
        if described.get("version") != VERSION:
            raise DataError(f"not a fingerprint of this version: {described.get('version')}")
        values = {name: described[name] for name in cls.__dataclass_fields__}
        return cls(
            **{
                **values,
                "feature_names": tuple(values["feature_names"]),
                "distances": tuple((name, kind, data) for name, kind, data in values["distances"]),
            }
        )

    def _about_items(self, now: "Fingerprint") -> Iterator[str]:
        if self.ids != now.ids:
            yield "its items are others, or in another order"
        if self.feature_names != now.feature_names:
            before, later = len(self.feature_names), len(now.feature_names)
            yield (
                "the features have other names"
                if before == later
                else f"it has {later} features, and there were {before}"
            )
        elif self.ids == now.ids and self.features != now.features:
            yield "features of the same items differ"

    def _about_distances(self, now: "Fingerprint") -> Iterator[str]:
        before = {name: (formula, data) for name, formula, data in self.distances}
        later = {name: (formula, data) for name, formula, data in now.distances}
        yield from (f"distance {name} is gone" for name in before if name not in later)
        yield from (f"distance {name} is new" for name in later if name not in before)
        if self.ids == now.ids:
            same = (name for name in before if name in later)
            yield from (f"distance {n} differs" for n in same if before[n] != later[n])
        if before.keys() == later.keys() and list(before) != list(later):
            yield "the distances are in another order"


def fingerprint_of(catalogue: "Catalogue", items: int) -> Fingerprint:
    """Return the fingerprint of the first `items` of a catalogue."""
    made = {
        "encoder": None if catalogue.encoder is None else encoder_to_json(catalogue.encoder),
        "sources": {name: source_to_json(one) for name, one in sorted(catalogue.sources.items())},
    }
    return Fingerprint(
        items,
        _digest(["".join(f"{len(item)}:{item}" for item in catalogue.ids[:items]).encode()]),
        catalogue.feature_names,
        _digest(_singles(catalogue.features[:items])),
        tuple((h.name, h.formula.name, _of_distance(h, items)) for h in catalogue.distances),
        None if catalogue.mean_user is None else _digest([_single(catalogue.mean_user).tobytes()]),
        _text_of(catalogue.feature_scale),
        _digest([_plain(made).encode()]) if any(made.values()) else None,
    )


def _of_distance(h: Distance, items: int) -> str:
    largest = h.formula.largest
    head = [h.scale, h.on_features, h.is_metric, None if largest is None else float(largest)]
    return _digest([_plain(head).encode(), *_data_of(h, items)])


def _data_of(h: Distance, items: int) -> Iterator[bytes]:
    """Yield a distance's data, independent of the order of its labels and of unused labels."""
    if h.on_features:
        return
    rows = h.rows[:items]
    if h.formula.name == "jaccard":
        used = [column for column in range(rows.shape[1]) if rows[:, column].any()]
        order = sorted(used, key=h.labels.__getitem__)
        yield _plain([h.labels[column] for column in order]).encode()
        for start in range(0, items, _ROWS):
            part = rows[start : start + _ROWS][:, order] != 0
            yield np.packbits(part, axis=1).tobytes()
    elif h.formula.name == "hamming":
        codes, places = np.unique(rows[:, 0].astype(np.intp), return_inverse=True)
        labels = [h.labels[code] for code in codes]
        ranks = np.argsort(np.argsort(np.array(labels, dtype=object), kind="stable"))
        yield _plain(sorted(labels)).encode()
        yield ranks[places.reshape(-1)].astype("<i4").tobytes()
    else:
        yield from _singles(rows)


def _singles(rows: FloatArray) -> Iterator[bytes]:
    yield f"{rows.shape[1]}:".encode()
    for start in range(0, len(rows), _ROWS):
        yield _single(rows[start : start + _ROWS]).tobytes()


def _single(numbers: FloatArray) -> NDArray[np.float32]:
    with np.errstate(over="ignore", under="ignore"):
        single: NDArray[np.float32] = np.ascontiguousarray(numbers).astype("<f4")
    single += np.float32(0.0)  # -0.0 is 0.0
    return single


def _plain(value: Any) -> str:
    """Return JSON with every float rounded to single precision."""
    return json.dumps(_rounded(value), sort_keys=True, separators=(",", ":"))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return _text_of(value)
    if isinstance(value, Mapping):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(part) for part in value]
    return value


def _text_of(number: float) -> str:
    return float(_single(np.array([number]))[0]).hex()


def _digest(parts: Iterable[bytes]) -> str:
    made = sha256()
    for part in parts:
        made.update(part)
    return made.hexdigest()[:32]

"""Encoders: features from the columns of an item table, and the same features of new items."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan, nan, sqrt
from typing import Any, Final, TypeAlias

import numpy as np

from variegate.arrays import (
    FloatArray,
    MaskArray,
    check_choice,
    check_count,
    check_not_negative,
    read_only_copy,
)
from variegate.errors import DataError, InputError
from variegate.model.columns import LabelColumn, NumberColumn, TextColumn
from variegate.model.item_table import ItemTable

#: A fitted column of a table.
EncodedColumn: TypeAlias = NumberColumn | LabelColumn | TextColumn


@dataclass(frozen=True, eq=False)
class Encoder:
    """Computes features of items; fitted on one table, applied to other items.

    `encoder_to_json` converts it to JSON. The same table and options give the same encoder.
    """

    columns: tuple[EncodedColumn, ...]
    #: The weight of each column's part of the feature vector
    shares: tuple[float, ...]
    #: Columns of labels such as "1990s", and the numeric attribute of each
    decades: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each feature, (d,).

        Features of a list are named by the label ("Comedy") unless another feature has that name;
        those of a category also have the column ("country: France").
        """
        short = [name for column in self.columns for name in _short_names(column)]
        long = [name for column in self.columns for name in column.names]
        counts = Counter(short)
        return tuple(s if counts[s] == 1 else name for s, name in zip(short, long, strict=True))

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attribute that each column is computed from, in the columns' order."""
        return tuple(self.decades.get(one.column, one.column) for one in self.columns)

    @property
    def places(self) -> tuple[slice, ...]:
        """The positions of each column's features in a vector, in the columns' order."""
        ends = np.cumsum([len(column.names) for column in self.columns]).tolist()
        return tuple(slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True))

    def features(self, table: ItemTable) -> FloatArray:
        """Return the items' features, (L, d), with norms of at most 1.

        Missing columns count as unknown. An item without a known value that this encoder has a
        feature for raises InputError.
        """
        features, known = self.encoded(table)
        _check_known(table, known)
        return features

    def encoded(self, table: ItemTable) -> tuple[FloatArray, MaskArray]:
        """Return the same features, and which items have a known value, (L,)."""
        blocks, known = [], np.zeros(len(table), dtype=np.bool_)
        for column, share in zip(self.columns, self.shares, strict=True):
            values = _columns_of_kind(table, column.kind).get(column.column)
            if values is None:
                blocks.append(np.zeros((len(table), len(column.names))))
                continue
            block = column.block(values)
            blocks.append(share * block)
            known |= column.known(values, block)
        return read_only_copy(np.hstack(blocks)), known


@dataclass(frozen=True, eq=False)
class Content:
    """Features computed from content, their names, and the encoder for new items."""

    #: One row per item, (L, d)
    features: FloatArray
    #: The name of each feature, (d,)
    names: tuple[str, ...]
    encoder: Encoder


def content_features(
    table: ItemTable,
    *,
    columns: Iterable[str] | None = None,
    weights: Mapping[str, float] | None = None,
    text_dimensions: int = 16,
    max_labels: int = 50,
) -> Content:
    """Return features of the items computed from their columns.

    Each column becomes a part of the vector with norm at most 1: one feature for each label, the
    quantile of a number in [-1, 1], latent dimensions of text. The parts are scaled so that the
    whole vector has norm at most 1 and every column has the same influence, whether it has two
    labels or fifty: under a ridge prior the influence of a column grows with the norm of its
    part. A column without known values is left out.

    Parameters
    ----------
    table
        The items.
    columns
        The names of the columns to use; all by default.
    weights
        The relative weight of a column, by its name; 1 by default.
    text_dimensions
        The number of latent dimensions of a column of text.
    max_labels
        The number of labels of a column that get a feature; items with none of them have "other".

    Examples
    --------
    >>> films = ItemTable(
    ...     ("a", "b"), ("Alien", "Amélie"), lists={"genres": (("Horror", "Sci-Fi"), ("Romance",))}
    ... )
    >>> content_features(films).names
    ('Horror', 'Romance', 'Sci-Fi')
    """
    check_count(text_dimensions, 1000, name="text_dimensions", of="the maximum")
    check_count(max_labels, 100_000, name="max_labels", of="the maximum")
    used = _used_columns(table, columns)
    wanted = _wanted_weights(used, weights or {})
    fitted = {
        name: column
        for name in used
        if wanted[name] > 0
        and (column := _fit_column(table, name, text_dimensions, max_labels)) is not None
    }
    if not fitted:
        raise InputError(f"`table` must have a column with known values, got {list(used)}")
    whole = sqrt(sum(wanted[name] ** 2 for name in fitted))
    encoder = Encoder(tuple(fitted.values()), tuple(wanted[name] / whole for name in fitted))
    return Content(encoder.features(table), encoder.names, encoder)


def _used_columns(table: ItemTable, columns: Iterable[str] | None) -> tuple[str, ...]:
    if isinstance(columns, str):
        raise InputError(f"`columns` must be a list of names, got the text {columns!r}")
    if columns is None:
        return tuple(table.columns)
    return tuple(dict.fromkeys(check_choice("columns", name, table.columns) for name in columns))


def _wanted_weights(used: tuple[str, ...], weights: Mapping[str, float]) -> dict[str, float]:
    for name, weight in weights.items():
        check_choice("weights", name, used)
        check_not_negative(**{f"weights[{name!r}]": weight})
    return {name: float(weights.get(name, 1.0)) for name in used}


def _fit_column(
    table: ItemTable, name: str, text_dimensions: int, max_labels: int
) -> EncodedColumn | None:
    if name in table.numbers:
        return NumberColumn.fit(name, table.numbers[name])
    if name in table.categories:
        return LabelColumn.fit("category", name, table.categories[name], max_labels)
    if name in table.lists:
        return LabelColumn.fit("list", name, table.lists[name], max_labels)
    return TextColumn.fit(name, table.texts[name], text_dimensions)


def _columns_of_kind(table: ItemTable, kind: str) -> Mapping[str, Any]:
    kinds: dict[str, Mapping[str, Any]] = {
        "number": table.numbers,
        "category": table.categories,
        "list": table.lists,
        "text": table.texts,
    }
    return kinds[kind]


def _short_names(column: EncodedColumn) -> tuple[str, ...]:
    if isinstance(column, LabelColumn) and column.kind == "list":
        return (*column.labels, *column.names[len(column.labels) :])
    return column.names


def _check_known(table: ItemTable, known: MaskArray) -> None:
    empty = np.flatnonzero(~known)
    if empty.size:
        row = int(empty[0])
        raise InputError(
            f"`table` must have a known value for every item, got item {table.ids[row]!r} "
            f"(row {row}) with no features ({empty.size} in all): leave it out of the table"
        )


FORMAT: Final = "variegate encoder"
VERSION: Final = 1


def encoder_to_json(encoder: Encoder) -> dict[str, Any]:
    """Return the encoder as JSON values; `encoder_from_json` is the inverse."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "shares": list(encoder.shares),
        "columns": [_column_to_json(column) for column in encoder.columns],
        **({"decades": dict(encoder.decades)} if encoder.decades else {}),
    }


def encoder_from_json(described: Mapping[str, Any]) -> Encoder:
    """Return the encoder from its JSON values, or raise DataError."""
    if described.get("format") != FORMAT or described.get("version") != VERSION:
        raise DataError(
            f"not an encoder of this variegate: format {described.get('format')!r}, "
            f"version {described.get('version')!r}"
        )
    try:
        columns = tuple(_column_from_json(column) for column in described["columns"])
        decades = {str(name): str(of) for name, of in described.get("decades", {}).items()}
        return Encoder(columns, tuple(map(float, described["shares"])), decades)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"a broken encoder: {error!r}") from None


def _column_to_json(column: EncodedColumn) -> dict[str, Any]:
    shared = {"kind": column.kind, "column": column.column}
    if isinstance(column, NumberColumn):
        return {**shared, "knots": list(column.knots), "places": list(column.places)}
    if isinstance(column, LabelColumn):
        labels = {"labels": list(column.labels), "weights": list(column.weights)}
        return {**shared, **labels, **({} if column.rest is None else {"rest": column.rest})}
    return {
        **shared,
        "words": list(column.words),
        "rarity": column.rarity.tolist(),
        "directions": column.directions.tolist(),
    }


def _column_from_json(described: Mapping[str, Any]) -> EncodedColumn:
    kind, name = described["kind"], str(described["column"])
    if kind == NumberColumn.kind:
        return NumberColumn(name, _floats(described["knots"]), _floats(described["places"]))
    if kind in ("category", "list"):
        labels = tuple(map(str, described["labels"]))
        rest = described.get("rest")
        weights = _floats(described["weights"])
        return LabelColumn(kind, name, labels, weights, None if rest is None else str(rest))
    if kind == TextColumn.kind:
        rarity = np.asarray(described["rarity"], dtype=np.float64)
        directions = np.asarray(described["directions"], dtype=np.float64)
        return TextColumn(name, tuple(map(str, described["words"])), rarity, directions)
    raise ValueError(f"no kind of column {kind!r}")


def _floats(numbers: Any) -> tuple[float, ...]:
    return tuple(map(float, numbers))


#: Squares of larger numbers, summed, overflow; see `Catalogue`.
_LARGEST: Final = 1e100
_NUMBERS: Final[tuple[Any, ...]] = (int, float, np.integer, np.floating)


def attribute_table(
    encoder: Encoder, ids: Sequence[str], attributes: Mapping[str, Sequence[Any]]
) -> ItemTable:
    """Return an item table with the columns of an encoder, from items' attributes.

    `attributes` are columns by name. A missing attribute is unknown for all items, and None is an
    unknown value. A value of the wrong kind for its column raises InputError.
    """
    kinds: dict[str, dict[str, Any]] = {"number": {}, "category": {}, "list": {}, "text": {}}
    for column, name in zip(encoder.columns, encoder.attributes, strict=True):
        if name not in attributes:
            continue
        if column.column in encoder.decades:
            values: list[Any] = [decade_of(name, value) for value in attributes[name]]
        else:
            values = [READERS[column.kind](name, value) for value in attributes[name]]
        is_number = column.kind == "number"
        kinds[column.kind][column.column] = np.array(values) if is_number else tuple(values)
    ids = tuple(ids)
    return ItemTable(
        ids, ids, kinds["number"], kinds["category"], kinds["list"], texts=kinds["text"]
    )


def number_of(name: str, value: Any) -> float:
    """Return a value of a column of numbers; nan if unknown."""
    if value is None:
        return nan
    if isinstance(value, bool) or not isinstance(value, _NUMBERS):
        raise _wrong(name, "a number or null", value)
    if abs(value) > _LARGEST:
        raise _wrong(name, f"a number of at most {_LARGEST:g} in size", value)
    return float(value)


def label_of(name: str, value: Any) -> str:
    """Return a value of a column of categories; "" if unknown."""
    if value is None:
        return ""
    if not _is_label(value):
        raise _wrong(name, "a label (text or a number) or null", value)
    return str(value)


def labels_of(name: str, value: Any) -> tuple[str, ...]:
    """Return a value of a column of lists of labels; empty if unknown."""
    if value is None:
        return ()
    if not isinstance(value, (list, tuple, set, frozenset)) or not all(map(_is_label, value)):
        raise _wrong(name, "a list of labels or null", value)
    texts = map(str, value)
    return tuple(sorted(texts) if isinstance(value, (set, frozenset)) else texts)


def text_of(name: str, value: Any) -> str:
    """Return a value of a column of text; "" if unknown."""
    if value is not None and not isinstance(value, str):
        raise _wrong(name, "text or null", value)
    return value or ""


def decade_of(name: str, value: Any) -> tuple[str, ...]:
    """Return the decade of a year as a list of one label, such as "1990s"; empty if unknown."""
    year = number_of(name, value)
    return () if isnan(year) else (f"{int(year // 10 * 10)}s",)


#: Converts an attribute's value for a column, by the kind of the column
READERS: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    "number": number_of,
    "category": label_of,
    "list": labels_of,
    "text": text_of,
}


def _is_label(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, _NUMBERS):
        return isinstance(value, str)
    return bool(abs(value) <= _LARGEST)


def _wrong(name: str, wanted: str, value: Any) -> InputError:
    text = repr(value)
    shown = text if len(text) <= 60 else f"{text[:59]}…"
    return InputError(f"`attributes.{name}` must be {wanted}, got {shown}")


@dataclass(frozen=True)
class ColumnSource:
    """Computes a distance's data from one attribute: a number, a label or a list of labels.

    An unknown number counts as `middle`, and a known one is clipped to `least` and `most`.
    """

    attribute: str
    #: "number", "category" or "list"; "single" is a category as a list of at most one label
    kind: str
    middle: float | None = None
    least: float | None = None
    most: float | None = None

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that the distance is computed from."""
        return (self.attribute,)

    def values(self, items: int, attributes: Mapping[str, Sequence[Any]]) -> list[Any]:
        """Return each item's value as `distance_of_values` takes it; see `attribute_table`."""
        column = attributes.get(self.attribute, [None] * items)
        return [self._value(value) for value in column]

    def _value(self, value: Any) -> Any:
        if self.kind == "single":
            label = label_of(self.attribute, value)
            return [label] if label else []
        read = READERS[self.kind](self.attribute, value)
        if self.kind == "number":
            number = self.middle if isnan(read) and self.middle is not None else read
            low = number if self.least is None else max(number, self.least)
            return low if self.most is None else min(low, self.most)
        return list(read) if self.kind == "list" else read


@dataclass(frozen=True, eq=False)
class VectorSource:
    """Computes a distance's data from several attributes: the vector of an encoder."""

    encoder: Encoder

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that the distance is computed from."""
        return self.encoder.attributes

    def values(self, items: int, attributes: Mapping[str, Sequence[Any]]) -> list[Any]:
        """Return each item's vector; zeros for an item without known values."""
        table = attribute_table(self.encoder, [f"item {n}" for n in range(items)], attributes)
        vectors: list[Any] = self.encoder.encoded(table)[0].tolist()
        return vectors


#: Computes the data of a distance from attributes
Source: TypeAlias = ColumnSource | VectorSource


def source_to_json(source: Source) -> dict[str, Any]:
    """Return a source as JSON values."""
    if isinstance(source, VectorSource):
        return {"encoder": encoder_to_json(source.encoder)}
    bounds = {"middle": source.middle, "least": source.least, "most": source.most}
    return {
        "attribute": source.attribute,
        "kind": source.kind,
        **{name: value for name, value in bounds.items() if value is not None},
    }


def source_from_json(described: Mapping[str, Any]) -> Source:
    """Return the source from its JSON values, or raise DataError."""
    if "encoder" in described:
        return VectorSource(encoder_from_json(described["encoder"]))
    kind = described.get("kind")
    if kind not in (*READERS, "single") or kind == "text":
        raise DataError(f"a distance cannot be made from an attribute of kind {kind!r}")
    bounds = (described.get(name) for name in ("middle", "least", "most"))
    return ColumnSource(
        str(described["attribute"]), kind, *(None if b is None else float(b) for b in bounds)
    )

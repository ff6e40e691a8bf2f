"""An encoder as data that JSON can hold: no pickle, so nothing runs when it is read."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from variegate.content.columns import LabelColumn, NumberColumn
from variegate.content.encoder import EncodedColumn, Encoder
from variegate.content.text import TextColumn
from variegate.errors import DataError

FORMAT: Final = "variegate encoder"
VERSION: Final = 1


def encoder_to_json(encoder: Encoder) -> dict[str, Any]:
    """Return the encoder as texts, numbers and lists; `encoder_from_json` turns them back."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "shares": list(encoder.shares),
        "columns": [_described(column) for column in encoder.columns],
        **({"decades": dict(encoder.decades)} if encoder.decades else {}),
    }


def encoder_from_json(described: Mapping[str, Any]) -> Encoder:
    """Return the encoder that `encoder_to_json` described, or raise DataError."""
    if described.get("format") != FORMAT or described.get("version") != VERSION:
        raise DataError(
            f"not an encoder of this variegate: format {described.get('format')!r}, "
            f"version {described.get('version')!r}"
        )
    try:
        columns = tuple(_restored(column) for column in described["columns"])
        decades = {str(name): str(of) for name, of in described.get("decades", {}).items()}
        return Encoder(columns, tuple(map(float, described["shares"])), decades)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"a broken encoder: {error!r}") from None


def _described(column: EncodedColumn) -> dict[str, Any]:
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


def _restored(described: Mapping[str, Any]) -> EncodedColumn:
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

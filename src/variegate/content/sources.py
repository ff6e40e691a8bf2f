"""Which attributes a distance is made from, and how."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any, TypeAlias

from variegate.content.attributes import READERS, attribute_table, label_of
from variegate.content.encoder import Encoder
from variegate.content.storage import encoder_from_json, encoder_to_json
from variegate.errors import DataError


@dataclass(frozen=True)
class ColumnSource:
    """One attribute: a number, a label or a list of labels.

    A number that is not known counts as `middle`, and one outside `least` and `most` as the
    nearer of the two.
    """

    attribute: str
    #: "number", "category" or "list"; "single" is a category as a list of at most one label
    kind: str
    middle: float | None = None
    least: float | None = None
    most: float | None = None

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that the distance is made from."""
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
    """Several attributes, as the vector that an encoder makes of them."""

    encoder: Encoder

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that the distance is made from."""
        return self.encoder.attributes

    def values(self, items: int, attributes: Mapping[str, Sequence[Any]]) -> list[Any]:
        """Return each item's vector; zeros where nothing is known."""
        table = attribute_table(self.encoder, [f"item {n}" for n in range(items)], attributes)
        vectors: list[Any] = self.encoder.encoded(table)[0].tolist()
        return vectors


#: How a distance with data of its own is made from attributes
Source: TypeAlias = ColumnSource | VectorSource


def source_to_json(source: Source) -> dict[str, Any]:
    """Return a source as texts, numbers and lists."""
    if isinstance(source, VectorSource):
        return {"encoder": encoder_to_json(source.encoder)}
    bounds = {"middle": source.middle, "least": source.least, "most": source.most}
    return {
        "attribute": source.attribute,
        "kind": source.kind,
        **{name: value for name, value in bounds.items() if value is not None},
    }


def source_from_json(described: Mapping[str, Any]) -> Source:
    """Return the source that `source_to_json` described, or raise DataError."""
    if "encoder" in described:
        return VectorSource(encoder_from_json(described["encoder"]))
    kind = described.get("kind")
    if kind not in (*READERS, "single") or kind == "text":
        raise DataError(f"a distance cannot be made from an attribute of kind {kind!r}")
    bounds = (described.get(name) for name in ("middle", "least", "most"))
    return ColumnSource(
        str(described["attribute"]), kind, *(None if b is None else float(b) for b in bounds)
    )

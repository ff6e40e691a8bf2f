"""The file format of catalogues: an .npz of arrays, one of them a JSON header."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from variegate.arrays import FloatArray
from variegate.errors import InputError
from variegate.files import FileFormat, atomic_write
from variegate.model.distances import FORMULAS, Distance, custom
from variegate.model.encoder import (
    encoder_from_json,
    encoder_to_json,
    source_from_json,
    source_to_json,
)

if TYPE_CHECKING:
    from variegate.model.catalogue import Catalogue

FORMAT: Final = FileFormat("catalogue", 1, "build it again or use the version that wrote it")


def write_catalogue(path: str | Path, catalogue: "Catalogue") -> None:
    """Write a catalogue to `path` atomically."""
    header = {
        "ids": catalogue.ids,
        "titles": catalogue.titles,
        "attributes": dict(catalogue.attributes),
        "feature_names": catalogue.feature_names,
        "feature_scale": catalogue.feature_scale,
        "distances": [_described(h) for h in catalogue.distances],
        "encoder": None if catalogue.encoder is None else encoder_to_json(catalogue.encoder),
        "sources": {name: source_to_json(one) for name, one in catalogue.sources.items()},
    }
    arrays = {"features": catalogue.features}
    if catalogue.mean_user is not None:
        arrays["mean_user"] = catalogue.mean_user
    for number, h in enumerate(catalogue.distances):
        if not h.on_features:
            arrays[f"distance_{number}"] = h.rows
    with atomic_write(path) as file:
        try:
            FORMAT.write(file, header, arrays, compress=True)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"`attributes` must be text, numbers, lists or None: {error}"
            ) from None


def read_catalogue(
    path: str | Path, functions: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]]
) -> dict[str, Any]:
    """Return the arguments of a `Catalogue` from a file, or raise DataError with its path."""
    with FORMAT.open(path) as (header, arrays):
        features = arrays["features"]
        distances = tuple(
            _restored(described, arrays.get(f"distance_{number}"), features, functions)
            for number, described in enumerate(header["distances"])
        )
        return {
            "ids": tuple(header["ids"]),
            "features": features,
            "distances": distances,
            "titles": tuple(header["titles"]),
            "attributes": header["attributes"],
            "feature_names": tuple(header["feature_names"]),
            "mean_user": arrays.get("mean_user"),
            "feature_scale": header["feature_scale"],
            # Files that were written before there were encoders have neither.
            "encoder": encoder_from_json(encoder) if (encoder := header.get("encoder")) else None,
            "sources": {
                name: source_from_json(one) for name, one in header.get("sources", {}).items()
            },
            "is_open": not header["ids"],
        }


def _described(h: Distance) -> dict[str, Any]:
    return {
        "kind": h.formula.name,
        "name": h.name,
        "scale": h.scale,
        "labels": h.labels,
        "on_features": h.on_features,
        "is_metric": h.is_metric,
        "largest": h.largest,
    }


def _restored(
    described: Mapping[str, Any],
    data: FloatArray | None,
    features: FloatArray,
    functions: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]],
) -> Distance:
    name, kind = described["name"], described["kind"]
    if kind == "custom":
        if name not in functions:
            raise InputError(f"`functions` must hold the function of the distance {name!r}")
        h = custom(
            functions[name],
            data,
            name=name,
            largest=described["largest"],
            is_metric=described["is_metric"],
        )
    else:
        scale, labels = described["scale"], tuple(described["labels"])
        h = Distance(FORMULAS[kind], name, data, scale, labels)
    return h.bound_to(features) if described["on_features"] else h

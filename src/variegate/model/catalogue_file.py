"""The file format of catalogues: an .npz of arrays, one of them a JSON header."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from variegate.arrays import FloatArray
from variegate.errors import DataError, InputError
from variegate.files import atomic_write, open_npz
from variegate.model.distances import FORMULAS, Distance, custom
from variegate.model.encoder import (
    encoder_from_json,
    encoder_to_json,
    source_from_json,
    source_to_json,
)

if TYPE_CHECKING:
    from variegate.model.catalogue import Catalogue

FORMAT: Final = "variegate catalogue"
VERSION: Final = 1


def write_catalogue(path: str | Path, catalogue: "Catalogue") -> None:
    """Write a catalogue to `path` atomically."""
    header = {
        "format": FORMAT,
        "version": VERSION,
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
    try:
        text = json.dumps(header, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"`attributes` must be text, numbers, lists or None: {error}") from None
    with atomic_write(path) as file:
        np.savez_compressed(
            file, allow_pickle=False, header=np.frombuffer(text.encode(), dtype=np.uint8), **arrays
        )


def read_catalogue(
    path: str | Path, functions: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]]
) -> dict[str, Any]:
    """Return the arguments of a `Catalogue` from a file, or raise DataError with its path."""
    with open_npz(path, "catalogue") as arrays:
        header = json.loads(arrays["header"].tobytes())
        _check_format(path, header)
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


def _check_format(path: str | Path, header: Mapping[str, Any]) -> None:
    if header.get("format") != FORMAT:
        raise DataError(f"{path}: not a variegate catalogue")
    if header.get("version") != VERSION:
        raise DataError(
            f"{path}: version {header.get('version')} of the catalogue format, and this variegate "
            f"reads version {VERSION}: build it again or use the version that wrote it"
        )


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

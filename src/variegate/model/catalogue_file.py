"""A catalogue as a file: one npz of plain arrays, and a JSON header among them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from variegate.arrays import FloatArray
from variegate.errors import DataError, InputError
from variegate.files import atomic_write, open_npz
from variegate.model.distances import FORMULAS, Distance, custom
from variegate.model.encoder import (
    Encoder,
    Source,
    encoder_from_json,
    encoder_to_json,
    source_from_json,
    source_to_json,
)

FORMAT: Final = "variegate catalogue"
VERSION: Final = 1


@dataclass(frozen=True, eq=False)
class Contents:
    """What a catalogue's file holds."""

    ids: tuple[str, ...]
    features: FloatArray
    distances: tuple[Distance, ...]
    titles: tuple[str, ...]
    attributes: Mapping[str, tuple[Any, ...]]
    feature_names: tuple[str, ...]
    mean_user: FloatArray | None
    feature_scale: float
    #: How features are made from attributes, if they are
    encoder: Encoder | None = None
    #: How distances with data of their own are made from attributes, by their names
    sources: Mapping[str, Source] = field(default_factory=dict)


def write_catalogue(path: str | Path, contents: Contents) -> None:
    """Write `contents` to `path`: beside it first, then in its place, so never half."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        "ids": contents.ids,
        "titles": contents.titles,
        "attributes": dict(contents.attributes),
        "feature_names": contents.feature_names,
        "feature_scale": contents.feature_scale,
        "distances": [_described(h) for h in contents.distances],
        "encoder": None if contents.encoder is None else encoder_to_json(contents.encoder),
        "sources": {name: source_to_json(one) for name, one in contents.sources.items()},
    }
    arrays = {"features": contents.features}
    if contents.mean_user is not None:
        arrays["mean_user"] = contents.mean_user
    for number, h in enumerate(contents.distances):
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
) -> Contents:
    """Read what `write_catalogue` wrote, or raise DataError with the path."""
    with open_npz(path, "catalogue") as arrays:
        header = json.loads(arrays["header"].tobytes())
        _check_format(path, header)
        features = arrays["features"]
        distances = tuple(
            _restored(described, arrays.get(f"distance_{number}"), features, functions)
            for number, described in enumerate(header["distances"])
        )
        return Contents(
            tuple(header["ids"]),
            features,
            distances,
            tuple(header["titles"]),
            header["attributes"],
            tuple(header["feature_names"]),
            arrays.get("mean_user"),
            header["feature_scale"],
            # Files that were written before there were encoders have neither.
            encoder_from_json(encoder) if (encoder := header.get("encoder")) else None,
            {name: source_from_json(one) for name, one in header.get("sources", {}).items()},
        )


def _check_format(path: str | Path, header: Mapping[str, Any]) -> None:
    if header.get("format") != FORMAT:
        raise DataError(f"{path}: not a catalogue of variegate")
    if header.get("version") != VERSION:
        raise DataError(
            f"{path}: version {header.get('version')} of the catalogue format, and this "
            f"variegate reads version {VERSION}: build it anew or use the variegate that wrote it"
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

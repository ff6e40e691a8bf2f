"""Trained embeddings, kept so that the same training is not done twice."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from variegate.embeddings.embeddings import Embeddings
from variegate.errors import DataError, MissingExtraError


def cache_folder() -> Path:
    """Return where trained embeddings are kept: `VARIEGATE_CACHE`, or the user's cache folder."""
    chosen = os.environ.get("VARIEGATE_CACHE")
    if chosen:
        return Path(chosen)
    try:
        from platformdirs import user_cache_path
    except ImportError:
        raise MissingExtraError(
            "the user's cache folder needs platformdirs (or set VARIEGATE_CACHE): "
            "pip install 'variegate[embeddings]'"
        ) from None
    return user_cache_path("variegate", appauthor=False)


def trained_once(
    folder: str | Path | None, settings: Mapping[str, Any], train: Callable[[], Embeddings]
) -> Embeddings:
    """Return what `train` gave for these settings before, or else what it gives now.

    `settings` must say all that the result depends on, the data too, and be the result's own.
    Without a folder nothing is kept. A file that is broken, or is not of these settings, is
    replaced.
    """
    if folder is None:
        return train()
    path = _prepared(Path(folder)) / f"{settings['method']}-{_name_of(settings)}.npz"
    with suppress(DataError):
        kept = Embeddings.load(path)
        if kept.settings == settings:
            return kept
    trained = train()
    trained.save(path)
    return trained


def _name_of(settings: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(dict(settings), sort_keys=True).encode()).hexdigest()[:32]


def _prepared(folder: Path) -> Path:
    # Asked before the training, so that nobody waits for what cannot be kept.
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be used as a cache: {error.strerror}") from None
    if not os.access(folder, os.W_OK):
        raise DataError(f"{folder}: cannot be used as a cache: it may not be written to")
    return folder

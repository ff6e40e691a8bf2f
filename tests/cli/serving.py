"""A shop's store and catalogue as the environment names them to the commands."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.engine.shop import Shop, catalogue
from variegate.store import Store


@dataclass(frozen=True)
class Place:
    """A folder with a catalogue and room for stores."""

    folder: Path

    @property
    def catalogue(self) -> str:
        return str(self.folder / "shop.npz")

    def url(self, name: str = "shop") -> str:
        return f"sqlite:///{self.folder}/{name}.db?durability=normal"

    @contextmanager
    def shop(self, name: str = "shop", **rules: Any) -> Iterator[Shop]:
        """Give the service's core over a store of that name."""
        with Store.open(self.url(name)) as store:
            yield Shop(store, **rules)


def placed(folder: Path) -> Place:
    """Return a place whose catalogue is written."""
    place = Place(folder)
    catalogue().save(place.catalogue)
    return place

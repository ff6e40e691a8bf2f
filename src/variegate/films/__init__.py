"""Films that install with the package, to try it on: no download, no ratings."""

from variegate.films.catalogue import film_catalogue

__all__ = ["film_catalogue"]

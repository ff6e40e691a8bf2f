"""The ground set E: items with their relevance features and their distances."""

from variegate.catalogue.catalogue import Catalogue

__all__ = ["Catalogue"]

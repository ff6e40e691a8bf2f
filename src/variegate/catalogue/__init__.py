"""The ground set E: items with their relevance features and their distances."""

from variegate.catalogue.catalogue import Catalogue
from variegate.catalogue.fingerprint import Fingerprint

__all__ = ["Catalogue", "Fingerprint"]

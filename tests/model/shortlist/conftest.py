"""One clustered catalogue and its cells, for all tests."""

import pytest

from tests.model.shortlist.making import EFFORT, clustered, shop_of
from variegate import Catalogue
from variegate.model.shortlist import Shortlist


@pytest.fixture(scope="package")
def shop() -> Catalogue:
    return shop_of(clustered())


@pytest.fixture(scope="package")
def shortlist(shop: Catalogue) -> Shortlist:
    return Shortlist.build(shop, effort=EFFORT)

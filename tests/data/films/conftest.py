"""The bundled films, built once for all tests that read them."""

import pytest

from variegate import Catalogue
from variegate.data.films import film_catalogue


@pytest.fixture(scope="session")
def films() -> Catalogue:
    pytest.importorskip("bokeh_sampledata", reason="the extra `films` is not installed")
    return film_catalogue()

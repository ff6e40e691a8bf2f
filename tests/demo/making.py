"""Small catalogues with answers that a reader can see."""

import numpy as np

from variegate import Catalogue
from variegate.model.distances import difference, jaccard

#: Six boxes: three red, three blue, of falling size.
COLOURS = ("red", "red", "red", "blue", "blue", "blue")
SIZES = (6.0, 5.0, 4.0, 3.0, 2.0, 1.0)


def boxes() -> Catalogue:
    """Six boxes with a feature for each colour and distances by colour and size."""
    return Catalogue(
        list("abcdef"),
        np.array([[colour == "red", colour == "blue"] for colour in COLOURS], dtype=np.float64),
        [jaccard([{colour} for colour in COLOURS], name="colours"), difference(SIZES, name="size")],
        titles=[f"{colour} {size:g}" for colour, size in zip(COLOURS, SIZES, strict=True)],
        attributes={
            "weight": [1] * 6,
            "colour": [[colour] for colour in COLOURS],
            "size": list(SIZES),
        },
        feature_names=["red", "blue"],
    )


def many_boxes(n: int = 60) -> Catalogue:
    """Boxes of the same two colours in turn, with colour as feature and distance."""
    colours = ["red" if number % 2 == 0 else "blue" for number in range(n)]
    return Catalogue(
        range(n),
        [[float(colour == "red"), float(colour == "blue")] for colour in colours],
        [jaccard([{colour} for colour in colours], name="colours")],
        feature_names=["red", "blue"],
    )

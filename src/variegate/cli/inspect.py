"""`variegate inspect`: the contents of a catalogue or a prior."""

from typing import TYPE_CHECKING, Final

import click

from variegate.cli.output import one_line, plain_console, plain_table, say, shortened

if TYPE_CHECKING:
    from rich.console import Console

    from variegate.arrays import IndexArray
    from variegate.cli.neighbours import DistanceSummary
    from variegate.model.catalogue import Catalogue
    from variegate.model.distances import Distance

#: Number of other matches named when a part of a title matches several items
ALSO: Final = 3
#: Widths of columns
MAX_TITLE: Final = 40
MAX_NAME: Final = 20


@click.command()
@click.argument("file")
@click.option(
    "--item", metavar="ID_OR_TITLE", help="Item whose neighbours to show.  [default: most popular]"
)
@click.option("--neighbours", default=5, show_default=True, help="Neighbours per distance.")
@click.option("--features", default=12, show_default=True, help="Number of features to show.")
@click.option("--seed", default=0, show_default=True, help="Random seed of the sample of pairs.")
@click.option("--catalogue", metavar="FILE", help="Catalogue of a prior, for the titles.")
def inspect(
    file: str,
    item: str | None,
    neighbours: int,
    features: int,
    seed: int,
    catalogue: str | None,
) -> None:
    """Show the contents of a catalogue or of a prior.

    Of a catalogue also near and far items. An item is given by its id or by part of its title. The
    most distant pair and the mean distance are over all pairs of items, or over a sample of them in
    large catalogues.

    \b
    Examples:
        variegate inspect films.npz
        variegate inspect films.npz --item "star wars" --neighbours 10
        variegate inspect prior.npz --catalogue prior-catalogue.npz
    """
    from variegate.cli.fit_prior import inspect_prior, is_prior

    if is_prior(file):
        inspect_prior(file, catalogue)
    else:
        _inspect_catalogue(file, item, neighbours, features, seed)


def _inspect_catalogue(
    file: str, item: str | None, neighbours: int, features: int, seed: int
) -> None:
    from variegate.arrays import check_count
    from variegate.cli.neighbours import by_popularity, distance_summary, find_items
    from variegate.model.catalogue import Catalogue

    check_count(neighbours, 1000, name="neighbours", of="the most that make sense")
    check_count(features, 10_000, name="features", of="the most that make sense")
    catalogue, console = Catalogue.load(file), plain_console()
    order = by_popularity(catalogue)
    meant = [int(order[0])] if item is None else find_items(catalogue, item)
    with console.status("Measuring distances"):
        spreads = [distance_summary(h, order, seed=seed) for h in catalogue.distances]
    _show_contents(console, catalogue, file)
    _show_features(console, catalogue, features)
    if not catalogue.distances:
        say(console, "\nNo distances: relevance only.")
        return
    _show_distances(console, catalogue, spreads, seed)
    _show_neighbours(console, catalogue, meant, neighbours, order)
    _show_farthest(console, catalogue, spreads)


def _show_contents(console: "Console", catalogue: "Catalogue", file: str) -> None:
    say(
        console,
        f"{file}: {_count(len(catalogue), 'item')}, {_count(catalogue.d, 'feature')}, "
        f"{_count(catalogue.m, 'distance')}",
        style="bold",
    )
    console.print(f"Attributes: {one_line(', '.join(catalogue.attributes)) or 'none'}")
    if catalogue.mean_user is not None:
        console.print("Has a mean user, used by LogRank and MMR.")


def _show_features(console: "Console", catalogue: "Catalogue", count: int) -> None:
    numbers = ("lowest", "mean", "highest", "not 0")
    table = plain_table("feature", *numbers, right=numbers)
    values = catalogue.features
    chosen = sorted((-values.std(axis=0)).argsort(kind="stable")[:count])
    for place in chosen:
        column = values[:, place]
        table.add_row(
            one_line(catalogue.feature_labels[place]),
            *(f"{number:.2f}" for number in (column.min(), column.mean(), column.max())),
            f"{(column != 0).sum():,}",
        )
    rest = catalogue.d - len(chosen)
    heading = f"{len(chosen)} of {catalogue.d} features, by variance" if rest else "Features"
    console.print(f"\n{heading}", style="bold")
    console.print(table)


def _show_distances(
    console: "Console", catalogue: "Catalogue", spreads: "list[DistanceSummary | None]", seed: int
) -> None:
    console.print("\nDistances", style="bold")
    numbers = ("mean", "largest", "maximum", "pairs")
    table = plain_table("name", "kind", "metric", *numbers, right=numbers)
    for h, spread in zip(catalogue.distances, spreads, strict=True):
        found = ("-", "-") if spread is None else (f"{spread.mean:.3f}", f"{spread.largest:.3f}")
        table.add_row(
            one_line(h.name),
            h.formula.name,
            "yes" if h.is_metric else "no",
            *found,
            f"{h.largest:.3f}",
            "-" if spread is None else f"{'all ' if spread.is_exact else ''}{spread.pairs:,}",
        )
    console.print(table)
    if any(spread is not None and not spread.is_exact for spread in spreads):
        console.print(f"Pairs other than 'all' are of a random sample of items (seed {seed}).")


def _show_neighbours(
    console: "Console", catalogue: "Catalogue", meant: list[int], count: int, order: "IndexArray"
) -> None:
    from variegate.cli.neighbours import nearest

    item, *others = meant
    console.print(
        f"\nNearest to {one_line(catalogue.titles[item])} (id {one_line(catalogue.ids[item])})",
        style="bold",
    )
    if others:
        named = ", ".join(one_line(catalogue.titles[row]) for row in others[:ALSO])
        more = f" and {len(others) - ALSO:,} more" if len(others) > ALSO else ""
        console.print(f"Also matches {named}{more}.", style="dim")
    for h in catalogue.distances:
        near = [(f"{apart:.3f}", row) for row, apart in nearest(h, item, count, order)]
        _show_items(console, catalogue, h, f"by {one_line(h.name)}", [("itself", item), *near])


def _show_farthest(
    console: "Console", catalogue: "Catalogue", spreads: "list[DistanceSummary | None]"
) -> None:
    console.print("\nMost distant", style="bold")
    for h, spread in zip(catalogue.distances, spreads, strict=True):
        heading = f"by {one_line(h.name)}"
        if spread is None:
            console.print(f"{heading}: fewer than two items")
            continue
        rows = [(f"{spread.largest:.3f}", spread.farthest[0]), ("apart", spread.farthest[1])]
        _show_items(console, catalogue, h, heading, rows)
        more = _count(spread.as_far - 1, "more pair") if spread.as_far > 1 else "no other pair"
        drawn = "" if spread.is_exact else f", of {spread.pairs:,} drawn"
        console.print(f"  As far apart: {more}{drawn}", style="dim")


def _show_items(
    console: "Console",
    catalogue: "Catalogue",
    h: "Distance",
    heading: str,
    items: list[tuple[str, int]],
) -> None:
    """Print one line per item: a word, its title, and the attribute that the distance compares."""
    from rich.cells import cell_len

    titles = [shortened(catalogue.titles[row], MAX_TITLE) for _word, row in items]
    heading = shortened(heading, MAX_NAME)
    table = plain_table(heading, "title", "", right=(heading,))
    # Titles come first; the attribute gets the rest of the line.
    left = console.width - max(map(len, [heading, *(word for word, _row in items)])) - 4
    left -= max(map(cell_len, titles))
    for (word, row), title in zip(items, titles, strict=True):
        table.add_row(word, title, shortened(_compared(catalogue, h, row), left))
    console.print(table)


def _compared(catalogue: "Catalogue", h: "Distance", row: int) -> str:
    """Return the attribute that a distance compares; for feature distances, those of the others."""
    from variegate.cli.neighbours import attribute_of

    own = attribute_of(catalogue, h)
    columns = (
        [own] if own is not None else [attribute_of(catalogue, g) for g in catalogue.distances]
    )
    values = [column[row] for column in columns if column is not None]
    return "; ".join(_as_text(value) for value in values)


def _as_text(value: object) -> str:
    if value is None or value in ([], ()):
        return "-"
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"

"""The diversity gains of a finished list in compiled loops (Eq. 7)."""

from numba import njit

from variegate.kernels.loops.distances import pair_distance


@njit(cache=True, nogil=True)
def fill_gains(items, chosen, factors, x):
    """Fill `x` (k, m) with the scaled sums of each item's distances to those above it.

    Returns whether all of `chosen` are items.
    """
    for n in range(len(chosen)):
        row = chosen[n]
        if row < 0 or row >= len(items.h_rows):
            return False
        for c in range(x.shape[1]):
            s, e = items.starts[c], items.starts[c] + items.widths[c]
            total = 0.0
            for p in chosen[:n]:
                total += pair_distance(
                    items.h_rows[row, s:e],
                    items.h_rows[p, s:e],
                    items.kinds[c],
                    items.sizes[c, row],
                    items.sizes[c, p],
                    items.scales[c],
                )
            x[n, c] = total * factors[n]
    return True

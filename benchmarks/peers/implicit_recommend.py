"""implicit's ALS: the ten best products of two vectors of factors, for many users in one call."""

import json
import os
import sys
from importlib import import_module
from importlib.metadata import version
from time import perf_counter

TASK = json.loads(sys.argv[1])
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, TASK["cores"])
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as implicit asks for
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(len(TASK["cores"]))

import numpy as np  # noqa: E402
from scipy.sparse import random as random_matrix  # noqa: E402

ROUNDS = 5


def main() -> None:
    """Print the seconds of the lists of all users, round by round."""
    users, items, cores = int(TASK["users"]), int(TASK["items"]), len(TASK["cores"])
    likes = random_matrix(users, items, density=0.005, format="csr", random_state=0)
    als = import_module("implicit.als")
    model = als.AlternatingLeastSquares(factors=TASK["d"], iterations=2, num_threads=cores)
    model.fit(likes, show_progress=False)
    ids, seconds = np.arange(users), []
    for _ in range(ROUNDS + 1):
        start = perf_counter()
        model.recommend(ids, likes, N=TASK["k"], filter_already_liked_items=False)
        seconds.append(perf_counter() - start)
    print(json.dumps({"version": version("implicit"), "seconds": seconds[1:]}))


if __name__ == "__main__":
    main()

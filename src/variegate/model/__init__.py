"""The paper's objects, one file each: catalogue, distances, gains, utility, ridge regression."""

"""The paper's experiments, run, judged and reported."""

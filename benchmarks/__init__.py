"""What is measured for speed, as ratios in one run."""

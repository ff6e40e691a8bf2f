"""Beyond the paper: a learner that begins with what is known of others, measured and judged."""

"""What is promised to teams with a ranker, with rules and with a history, measured and judged."""

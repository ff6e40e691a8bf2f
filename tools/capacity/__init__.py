"""Measure the costs of the capacity plan, and check what it predicts against a load test."""

"""Tests, by kind of truth."""

"""Durability test: a service is killed under load again and again, and its store is checked."""

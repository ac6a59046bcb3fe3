"""Helpers that know nothing of models or tables."""

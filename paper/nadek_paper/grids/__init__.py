"""Grids of small trainings: options, run and tables."""

"""Grids of small trainings: their options, their run and their tables."""

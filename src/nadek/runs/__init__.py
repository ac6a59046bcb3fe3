"""Runs: from a recipe to a trained model in a folder, with resume and a record."""

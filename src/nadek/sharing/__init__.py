"""Models that leave Python: a conditional pass as a file, and a page to play on."""

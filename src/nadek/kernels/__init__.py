"""Matrix products, and facts about the processor."""

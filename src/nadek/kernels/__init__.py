"""Matrix products, activation checkpointing and facts about the processor."""

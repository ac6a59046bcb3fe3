"""Fast paths below the models: matrix products, activation checkpointing, processor facts."""

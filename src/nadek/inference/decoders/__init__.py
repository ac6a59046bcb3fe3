"""Decoders: conditionals of one variable after the other.

- `FullDecoder` runs the whole network at every position. It is the plain reference for the others.
- `IncrementalDecoder` serves rows that share an ordering. It keeps running sums and computes only the logits asked for.
- `RaggedDecoder` is the incremental decoder for rows that differ in which variables they visit.
- `MemoryDecoder` wraps one of these for a model with a memory.

All agree up to rounding.
"""

"""From files to a catalogue: loaders, splits, embeddings, builders and the bundled films."""

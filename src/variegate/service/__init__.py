"""The service: a catalogue and its policies behind HTTP."""

"""Programs for those who work on variegate; they are not part of the package."""

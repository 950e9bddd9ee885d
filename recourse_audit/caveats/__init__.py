"""Findings come in; what must be said beside them goes out."""

"""A sealed model file comes in; log-probabilities for many small graphs go out."""

"""Stage 2: a sealed model file comes in, log-probabilities for many small graphs come out."""

"""Stage 5: findings come in, and what must be said beside them goes out."""

"""Benchmarks of speed and scale, reported as ratios within one run."""

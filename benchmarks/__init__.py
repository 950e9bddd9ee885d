"""Speed and scale, measured as ratios within one run."""

"""The paper's tables reproduced, and other tools on the same nodes (benchmarks/results.md)."""

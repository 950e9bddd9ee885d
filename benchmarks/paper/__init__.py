"""The paper's tables reproduced, and other tools on the same nodes (docs/benchmarks.md)."""

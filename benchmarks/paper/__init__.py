"""The paper's tables again, and the tools that people would use instead (docs/benchmarks.md)."""

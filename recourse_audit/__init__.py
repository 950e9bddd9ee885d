"""Audit a sealed ONNX graph neural network: what carried a decision, and what could change it."""

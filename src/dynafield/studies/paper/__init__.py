"""The paper's experiments, from our own runs, and its claims judged by them."""

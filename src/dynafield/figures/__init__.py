"""Drawing of results: never computes."""

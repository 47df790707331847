"""Training in steps: single ones, mini-batches and noise, and the way between steps and blocks of them."""

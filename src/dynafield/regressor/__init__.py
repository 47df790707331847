"""A scikit-learn estimator: a thin door to training."""

"""The solver: dynamical mean-field theory of training."""

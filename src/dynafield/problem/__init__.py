"""What is asked: tasks, priors, networks. Imports nothing of ours but numerics."""

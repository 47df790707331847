"""The limit of training and its speed: fixed points, rates, their trade-off."""

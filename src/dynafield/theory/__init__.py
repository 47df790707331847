"""Where training ends and how fast: fixed points, rates, their trade-off."""

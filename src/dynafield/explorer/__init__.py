"""The page on which settings are dragged and curves follow."""

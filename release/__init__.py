"""What is needed to publish: checks of the wheel, versions to test with, the recipe for conda-forge."""

"""The paper's figures, drawn from saved data."""

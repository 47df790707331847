"""Results as labelled arrays: printing, netCDF, provenance."""

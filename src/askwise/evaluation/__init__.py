"""Numbers about a model: metrics, curves, frontiers, calibration, a known truth."""

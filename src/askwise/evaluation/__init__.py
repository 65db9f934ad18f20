"""Numbers about a model: metrics, curves, frontiers, calibration, a known truth."""

from askwise.core.moved import keep_old_names

keep_old_names(__name__)

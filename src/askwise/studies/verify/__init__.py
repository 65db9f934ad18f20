"""Training on distributions whose exact answers are known."""

"""Training: one loop for every method; a method supplies objectives."""

"""Faults of a table that can be found before training: each file looks for one kind."""

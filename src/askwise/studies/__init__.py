"""Studies: methods compared on tables, and models tried on known answers."""

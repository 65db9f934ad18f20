"""The live conversation about one case."""

"""Pictures in one house style."""

"""Plain networks: they know tensors, not tables or methods."""

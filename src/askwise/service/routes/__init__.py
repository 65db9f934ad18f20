"""The routes: each parses a request, calls one function and formats its result."""

"""Data: tables as they are, and how they become rows."""

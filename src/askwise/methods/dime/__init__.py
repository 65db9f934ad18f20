"""DIME, on tables and on images."""

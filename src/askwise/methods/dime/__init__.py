"""DIME, on tables and on images."""

from askwise.core.moved import keep_old_names

keep_old_names(__name__)

"""Reports: numbers come in, pages and pictures go out."""

from askwise.core.moved import keep_old_names

keep_old_names(__name__)

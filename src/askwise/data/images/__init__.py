"""Images: their files, how they are cut into patches, and sketches of them."""

from askwise.core.moved import keep_old_names

keep_old_names(__name__)

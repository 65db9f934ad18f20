"""Images: their files, how they are cut into patches, and sketches of them."""

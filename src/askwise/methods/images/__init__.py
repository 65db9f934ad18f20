"""Methods that ask for patches of images."""

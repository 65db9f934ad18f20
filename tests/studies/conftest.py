"""Pictures of studies are drawn small."""

from small_pictures import real_size, small_pictures

__all__ = ["real_size", "small_pictures"]

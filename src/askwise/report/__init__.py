"""Reports: numbers come in, pages and pictures go out."""

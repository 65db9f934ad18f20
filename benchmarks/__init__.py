"""Figures of ours, in folders by what they show; each script is run as `python -m benchmarks.folder.script`."""

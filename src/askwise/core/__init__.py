"""The core: what is asked, of which rows, by which step, until which rule. Small and pure; no files, no printing."""

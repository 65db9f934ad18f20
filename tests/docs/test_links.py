"""Links between pages: every file is there, and every anchor is a heading."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", re.MULTILINE)
BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`\n]*`")


def prose(page):
    """A page without its blocks of code."""
    return BLOCK.sub("", page.read_text(encoding="utf-8"))


def anchors(page):
    """The anchors that GitHub gives a page's headings."""
    found = set()
    for heading in HEADING.findall(prose(page)):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        number, anchor = 0, name
        while anchor in found:
            number += 1
            anchor = f"{name}-{number}"
        found.add(anchor)
    return found


def links(page):
    """The links of a page to other files, and to places in itself; code is left out."""
    return [link for link in LINK.findall(CODE.sub("", prose(page))) if not re.match(r"[a-z]+:", link)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page):
    dead = []
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            dead.append(link)
    assert dead == []


def test_links_are_found():
    """A pattern that finds nothing would find nothing wrong."""
    assert sum(len(links(page)) for page in PAGES) > 50
    assert "methods-compared" in anchors(ROOT / "docs/results.md")

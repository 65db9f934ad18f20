"""A page of the service in a real browser, drawn as a picture."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.shared.options import NotInstalled, Options

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def add_page_options(options: Options) -> None:
    options.add_argument("--dark", action="store_true")
    options.add_argument("--width", type=int, default=1280)


@contextmanager
def pictured(args: argparse.Namespace, url: str) -> Iterator[Any]:
    """Open a page; at the end it is drawn as a whole, in the file that --figure names."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise NotInstalled("no browser was found: install Chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        scheme = "dark" if args.dark else "light"
        context = browser.new_context(viewport={"width": args.width, "height": 900}, color_scheme=scheme)
        page = context.new_page()
        page.goto(url)
        yield page
        page.mouse.move(0, 0)
        page.wait_for_timeout(500)
        page.screenshot(path=args.figure, full_page=True)
        browser.close()

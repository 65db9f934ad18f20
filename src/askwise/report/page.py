"""The HTML of a report's page."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Picture:
    """A drawn picture, what it shows in words for those who can't see it, and whether it holds photos."""

    png: bytes
    alt: str
    photo: bool = False


def picture_of(figure: Figure, alt: str, photo: bool = False) -> Picture:
    """A figure as a small PNG."""
    from PIL import Image

    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png")
    found = Image.open(drawn).convert("RGB")
    if not photo:
        # A drawing needs no more than 256 colours, and is a third of the size with them.
        found = found.quantize(256, dither=Image.Dither.NONE)
    found.save(small, "png", optimize=True)
    return Picture(small.getvalue(), alt, photo)


def escaped(value: object) -> str:
    """Text for HTML: names of columns, groups and labels come from users."""
    return html.escape(str(value), quote=True)


def counted(number: int, what: str) -> str:
    """1 case, 1,234 cases."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def html_table(heads: Sequence[str], lines: Iterable[Sequence[object]], words: int = 1) -> str:
    """A table that scrolls by itself on a small screen; the first `words` columns are words, the rest numbers."""
    kinds = ["" if i < words else ' class="n"' for i in range(len(heads))]
    head = "".join(f'<th scope="col"{k}>{escaped(h)}</th>' for h, k in zip(heads, kinds, strict=True))
    body = "\n".join(
        "<tr>" + "".join(f"<td{k}>{escaped(v)}</td>" for v, k in zip(line, kinds, strict=True)) + "</tr>"
        for line in lines
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def html_picture(picture: Picture, caption: str) -> str:
    data = base64.b64encode(picture.png).decode()
    kind = ' class="photo"' if picture.photo else ""
    return (
        f'<figure><img{kind} src="data:image/png;base64,{data}" alt="{escaped(picture.alt)}">'
        f"<figcaption>{escaped(caption)}</figcaption></figure>"
    )


def fold(summary: str, content: str) -> str:
    return f"<details><summary>{escaped(summary)}</summary>{content}</details>"


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="color-scheme" content="light dark">
<title>$title</title>
<style>
:root { --back: #ffffff; --ink: #222222; --soft: #5f5f5f; --line: #e2e2e2; --box: #f6f7f8; --mark: #0072b2; }
@media (prefers-color-scheme: dark) {
  :root { --back: #121212; --ink: #ededed; --soft: #a8a8a8; --line: #333333; --box: #1d1f21; --mark: #6cbcf0; }
  /* White paper becomes the page's black, and hues stay what they were; a photo must not become a negative. */
  img:not(.photo) { filter: invert(0.93) hue-rotate(180deg); }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 4rem; background: var(--back); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { margin: 0; font-size: 1.7rem; line-height: 1.2; }
h2 { margin: 2.8rem 0 0.6rem; padding-top: 1rem; border-top: 1px solid var(--line); font-size: 1.25rem; }
p, figcaption, footer, summary { max-width: 46rem; }
.soft, figcaption, footer, small { color: var(--soft); font-size: 0.9rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: 0.8rem; margin: 1.4rem 0; }
.card { display: flex; flex-direction: column; padding: 0.9rem 1.1rem; background: var(--box); border-radius: 0.6rem; }
.card b { color: var(--mark); font-size: 1.9rem; line-height: 1.25; }
figure { margin: 1.2rem 0; }
img { display: block; width: 100%; height: auto; }
figcaption { margin-top: 0.4rem; }
.scroll { overflow-x: auto; margin: 0.8rem 0; }
table { border-collapse: collapse; font-size: 0.88rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 0.8rem 0.3rem 0; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; white-space: nowrap; }
th { color: var(--soft); font-weight: 600; }
.n { padding-left: 0.8rem; text-align: right; }
summary { padding: 0.3rem 0; color: var(--mark); cursor: pointer; }
footer { margin-top: 3rem; }
</style>
</head>
<body>
<header>
<h1>askwise report</h1>
$subject
<p class="soft">${target}Made on $made, on $cases; $questions that can be asked</p>
</header>
<main>
<div class="cards">
$cards
</div>
$points
<p class="soft">$points_note</p>
<h2>What the cost buys</h2>
$cost_curve
$metrics
$curves
$decisions
<h2>Which questions are asked</h2>
$selection
<h2>Why it stops</h2>
$reasons
<h2>Single cases</h2>
$single
$frontier
<h2>Can its numbers be trusted?</h2>
$calibration
$gaps
<h2>The model</h2>
$asked
$facts
</main>
<footer>Made by askwise $version. The numbers of the curves are in curve.csv beside this page; those that tell
whether to trust them in trust.csv, reliability.csv and realised.csv.$about_tables</footer>
</body>
</html>
"""

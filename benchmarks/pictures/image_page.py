"""The picture of the page in the docs with a model of images: a flag in the wind, looked at patch by patch.

python -m benchmarks.pictures.image_page [--figure OUT.png] [--patches 3] [--example 1] [--dark] [--width 1280]

Needs Chromium. The flags are drawn here: twelve of Europe, each in other folds, light and place. A model of their
patches is trained in half a minute on a CPU.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from askwise import AverageCost, DimeImageClassifier
from benchmarks.shared.browser import add_page_options, pictured
from benchmarks.shared.options import Options
from benchmarks.shared.server import served

HEIGHT, WIDTH, FINER = 32, 48, 4
COLOURS = {
    "black": (25, 25, 28),
    "white": (240, 240, 236),
    "red": (200, 30, 45),
    "blue": (25, 60, 150),
    "green": (20, 130, 70),
    "orange": (245, 135, 45),
    "yellow": (250, 205, 50),
}
UPRIGHT = {
    "France": ("blue", "white", "red"),
    "Italy": ("green", "white", "red"),
    "Ireland": ("green", "white", "orange"),
    "Belgium": ("black", "yellow", "red"),
    "Romania": ("blue", "yellow", "red"),
}
LYING = {
    "Netherlands": ("red", "white", "blue"),
    "Germany": ("black", "red", "yellow"),
    "Austria": ("red", "white", "red"),
}
# The ground, then the cross, then one within it.
CROSSES = {
    "Denmark": ("red", "white"),
    "Sweden": ("blue", "yellow"),
    "Finland": ("white", "blue"),
    "Norway": ("red", "white", "blue"),
}
COUNTRIES = (*UPRIGHT, *LYING, *CROSSES)


def flag(country: str, across: np.ndarray[Any, Any], down: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The colour of a flag at places from 0 to 1."""
    for stripes, along in ((UPRIGHT, across), (LYING, down)):
        if country in stripes:
            parts = np.array([COLOURS[name] for name in stripes[country]])
            return parts[np.clip((along * 3).astype(int), 0, 2)]
    ground, *crosses = (np.array(COLOURS[name]) for name in CROSSES[country])
    found = np.broadcast_to(ground, (*across.shape, 3))
    for colour, half in zip(crosses, (0.12, 0.06), strict=False):
        is_cross = (np.abs(across - 0.37) < half / 1.5) | (np.abs(down - 0.5) < half)
        found = np.where(is_cross[..., None], colour, found)
    return found


def photo(country: str, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """A flag against the sky, in folds: (height, width, 3)."""
    y, x = np.mgrid[0 : HEIGHT * FINER, 0 : WIDTH * FINER].astype(float)
    y, x = y / (HEIGHT * FINER), x / (WIDTH * FINER)
    fold = np.sin(2 * np.pi * (x * rng.uniform(1.2, 2.2) + y * rng.uniform(-0.3, 0.3) + rng.uniform()))
    left, top, size = rng.uniform(0.02, 0.1), rng.uniform(0.08, 0.16), rng.uniform(0.8, 0.9)
    across, down = (x - left) / size, (y - top - 0.03 * fold * x) / (size * 0.92)
    is_flag = (across >= 0) & (across < 1) & (down >= 0) & (down < 1)
    cloth = flag(country, across, down) * (0.86 + 0.14 * fold)[..., None]
    sky = np.array([185, 210, 235]) + (y * 35)[..., None]
    seen = np.where(is_flag[..., None], cloth, sky) * rng.uniform(0.8, 1.05)
    seen = seen.reshape(HEIGHT, FINER, WIDTH, FINER, 3).mean((1, 3)) + rng.normal(0, 4, (HEIGHT, WIDTH, 3))
    return np.clip(seen, 0, 255).astype(np.uint8)


def photos(n_each: int, seed: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Photos (n, height, width, 3) of every country, and its name."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(COUNTRIES, n_each)
    return np.stack([photo(country, rng) for country in labels]), labels


def look_at_patches(page: Any, example: int, patches: int) -> None:
    """Choose an example, and look at one patch after another, as the model proposes them."""
    from playwright.sync_api import expect

    page.get_by_role("button", name=f"Example {example}", exact=True).click()
    rule = page.get_by_role("textbox", name="Average cost")
    rule.fill("4")
    rule.press("Enter")
    for k in range(patches):
        # The rule may have stopped it before.
        if page.get_by_text("Time to stop").count() == 0:
            page.get_by_role("button", name="Look at this patch").click()
            expect(page.locator(".said-name")).to_have_count(k + 1)


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__)
    options.add("--patches", type=int, default=3, smoke=1)
    options.add_argument("--example", type=int, default=1)
    options.add("--photos", type=int, default=60, smoke=4, help="of each flag, to train with")
    options.add("--pretrain-epochs", type=int, default=40, smoke=1)
    options.add("--epochs", type=int, default=20, smoke=1)
    options.add_written("--figure", Path("docs/images/page_images.png"))
    add_page_options(options)
    args = options.read(argv)
    size = {"backbone": "small-vit", "patch": 8, "hidden": 32, "layers": 1, "max_steps": 6}
    how = {"pretrain_epochs": args.pretrain_epochs, "epochs": args.epochs, "batch_size": 32, "learning_rate": 2e-3}
    model = DimeImageClassifier(**size, **how, augment=[], random_state=0).fit(*photos(args.photos, seed=0))
    shown, countries = photos(1 if args.smoke else 10, seed=1)
    model.frontier(shown, countries)
    asked = model.acquire(shown, stop=AverageCost(3))
    hits = (model.classes_[asked.proba.argmax(1)] == countries).mean()
    print(f"{hits:.3f} with {asked.n_asked.mean():.2f} of {len(model.model_.schema.layout.names)} patches")
    model.model_.card |= {"target": "country"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model.save(folder / "flags.askwise")
        for i, (pixels, country) in enumerate(zip(shown, countries, strict=True)):
            (folder / "photos" / country).mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(folder / "photos" / country / f"{i}.png")
        with (
            served(folder / "flags.askwise", folder, folder / "photos", in_thread=args.smoke) as server,
            pictured(args, server.url) as page,
        ):
            look_at_patches(page, args.example, args.patches)


if __name__ == "__main__":
    main()

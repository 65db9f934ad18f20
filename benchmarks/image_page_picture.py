"""The picture of the page in the docs with a model of images: a flag in the wind, looked at patch by patch.

python benchmarks/image_page_picture.py OUT.png [--patches 3] [--example 1] [--dark] [--width 1280]

Needs Chromium. The flags are drawn here: twelve of Europe, each in other folds, light and place. A model of their
patches is trained in half a minute on a CPU.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import expect, sync_playwright

from askwise import AverageCost, DimeImageClassifier
from service import served

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--patches", type=int, default=3)
    parser.add_argument("--example", type=int, default=1)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--width", type=int, default=1280)
    given = parser.parse_args()
    size = {"backbone": "small-vit", "patch": 8, "hidden": 32, "layers": 1, "max_steps": 6}
    how = {"pretrain_epochs": 40, "epochs": 20, "batch_size": 32, "learning_rate": 2e-3, "augment": []}
    model = DimeImageClassifier(**size, **how, random_state=0).fit(*photos(60, seed=0))
    shown, countries = photos(10, seed=1)
    model.frontier(shown, countries)
    asked = model.acquire(shown, stop=AverageCost(3))
    hits = (model.classes_[asked.proba.argmax(1)] == countries).mean()
    print(f"{hits:.3f} with {asked.n_asked.mean():.2f} of {len(model.model_.schema.layout.names)} patches")
    model.model_.card |= {"target": "country"}
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        model.save(folder / "flags.askwise")
        for i, (pixels, country) in enumerate(zip(shown, countries, strict=True)):
            (folder / "photos" / country).mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(folder / "photos" / country / f"{i}.png")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        look = browser.new_context(
            viewport={"width": given.width, "height": 900}, color_scheme="dark" if given.dark else "light"
        )
        with served(folder / "flags.askwise", folder, "--examples", str(folder / "photos")) as where:
            page = look.new_page()
            page.goto(f"http://127.0.0.1:{where.port}/")
            page.get_by_role("button", name=f"Example {given.example}", exact=True).click()
            rule = page.get_by_role("textbox", name="Average cost")
            rule.fill("4")
            rule.press("Enter")
            for k in range(given.patches):
                # The rule may have stopped it before.
                if page.get_by_text("Time to stop").count() == 0:
                    page.get_by_role("button", name="Look at this patch").click()
                    expect(page.locator(".said-name")).to_have_count(k + 1)
            page.mouse.move(0, 0)
            page.wait_for_timeout(500)
            page.screenshot(path=given.out, full_page=True)
        browser.close()


if __name__ == "__main__":
    main()

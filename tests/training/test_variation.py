"""Images varied at random while a network learns from them."""

import pytest
import torch

from askwise.core.rows import Rows
from askwise.data.images.patches import PatchLayout
from askwise.training.variation import MOST_SHIFT, MOST_ZOOM, VARIATIONS, Varied

LAYOUT = PatchLayout(16, 24, 1, 4, sketch=True)


def make_rows(n=64, layout=LAYOUT):
    """Rows of a photo of one channel and a sketch that show the same picture."""
    photo = torch.randint(0, 256, (n, layout.n_pixels), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    present = torch.ones(n, layout.n_patches + 1, dtype=torch.bool)
    return Rows(torch.cat([photo, photo], 1), present, present[:, :-1], torch.arange(n))


def varied(ways, rows, seed=0, layout=LAYOUT):
    torch.manual_seed(seed)
    return Varied(layout, ways)(rows)


def images(rows, layout=LAYOUT):
    return rows.x[:, : layout.n_pixels].view(len(rows), layout.height, layout.width).float()


def test_without_variations_rows_stay_themselves():
    rows = make_rows()
    assert Varied(LAYOUT, [])(rows) is rows


@pytest.mark.parametrize("ways", [[way] for way in VARIATIONS] + [list(VARIATIONS)])
def test_a_sketch_moves_with_its_photo(ways):
    rows = make_rows()
    found = varied(ways, rows)
    assert torch.equal(found.x[:, : LAYOUT.n_pixels], found.x[:, LAYOUT.n_pixels :])
    assert not torch.allclose(found.x, rows.x.float())
    assert found.x.min() >= 0
    assert found.x.max() <= 255.01


@pytest.mark.parametrize("ways", [[way] for way in VARIATIONS])
def test_a_seed_repeats_a_variation_and_another_gives_another(ways):
    rows = make_rows()
    assert torch.equal(varied(ways, rows).x, varied(ways, rows).x)
    assert not torch.equal(varied(ways, rows).x, varied(ways, rows, seed=1).x)


def test_half_of_the_images_are_mirrored_left_to_right_and_the_others_stay():
    rows = make_rows(400)
    before, after = images(rows), images(varied(["flip"], rows))
    same = (after - before).abs().amax((1, 2)) < 0.1
    mirrored = (after - before.flip(2)).abs().amax((1, 2)) < 0.1
    assert (same ^ mirrored).all()
    assert float(mirrored.float().mean()) == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize(("way", "most"), [("shift", MOST_SHIFT), ("zoom", (1 - 1 / MOST_ZOOM) / 2)])
def test_images_move_no_further_than_they_may_and_each_on_its_own(way, most):
    """A picture of its own columns' numbers tells where each column went."""
    layout = PatchLayout(16, 48, 1, 4)
    columns = (torch.arange(48.0) + 0.5).expand(200, 16, 48).reshape(200, -1)
    present = torch.ones(200, layout.n_patches, dtype=torch.bool)
    moved = images(varied([way], Rows(columns, present, present), layout=layout), layout)[:, 8]
    middle = moved[:, 20:28].mean(1) - 24
    assert middle.abs().max() <= most * 48 + 0.01
    assert middle.abs().max() > 0.6 * most * 48
    assert middle.std() > 0
    steps = (moved[:, 25] - moved[:, 22]) / 3
    if way == "zoom":
        assert (1 / steps).min() >= 1 - 1e-3
        assert (1 / steps).max() <= MOST_ZOOM + 1e-3
        assert (moved[:, 0] >= 0).all()
    else:
        assert torch.allclose(steps, torch.ones_like(steps), atol=1e-3)


def test_nothing_but_the_pixels_changes():
    rows = make_rows()
    found = varied(VARIATIONS, rows)
    assert found.present is rows.present
    assert found.available is rows.available
    assert found.y is rows.y
    assert found.x.shape == rows.x.shape

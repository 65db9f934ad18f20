"""Images as a grid of patches, each of them a group."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from askwise import AskwiseError
from askwise.core.policy import Policy
from askwise.data.images.patches import PatchLayout, PatchSpace
from askwise.data.images.schema import ImageSchema

LAYOUTS = st.builds(
    lambda rows, columns, channels, patch, sketch: PatchLayout(rows * patch, columns * patch, channels, patch, sketch),
    st.integers(1, 5),
    st.integers(2, 5),
    st.sampled_from([1, 3]),
    st.integers(1, 4),
    st.booleans(),
)


@settings(max_examples=25, deadline=None)
@given(layout=LAYOUTS)
def test_the_windows_of_the_patches_cover_every_pixel_once(layout):
    seen = np.zeros((layout.height, layout.width), dtype=int)
    for i in range(layout.n_patches):
        assert seen[layout.window(i)].shape == (layout.patch, layout.patch)
        seen[layout.window(i)] += 1
    assert (seen == 1).all()


@settings(max_examples=25, deadline=None)
@given(layout=LAYOUTS)
def test_an_entry_belongs_to_the_patch_whose_window_it_lies_in(layout):
    of_entry = layout.patch_of_entry()
    planes = of_entry[: layout.n_pixels].reshape(layout.channels, layout.height, layout.width)
    for i in range(layout.n_patches):
        assert (planes[:, *layout.window(i)] == i).all()
    rest = of_entry[layout.n_pixels :]
    assert len(rest) == (layout.height * layout.width if layout.sketch else 0)
    assert (rest == layout.n_patches).all()


def test_names_count_rows_and_columns_from_one():
    assert PatchLayout(8, 12, 3, 4).names == ("r1c1", "r1c2", "r1c3", "r2c1", "r2c2", "r2c3")


@pytest.mark.parametrize(("height", "width", "patch"), [(30, 32, 8), (32, 30, 8)])
def test_images_that_are_not_whole_patches_are_refused(height, width, patch):
    with pytest.raises(AskwiseError, match=rf"{height} x {width} pixels can't be cut into whole patches of 8 x 8"):
        PatchLayout(height, width, 3, patch)


def test_one_patch_is_no_question():
    with pytest.raises(AskwiseError, match=r"a patch of 16 x 16 is the whole image.*smaller patch"):
        PatchLayout(16, 16, 3, 16)


def test_a_sketch_is_a_free_column_that_is_known_from_the_start():
    layout = PatchLayout(8, 8, 3, 4, sketch=True)
    space = PatchSpace.of(layout, [1, 2, 3, 4])
    assert (space.n_groups, space.n_columns, space.n_entries) == (4, 5, 4 * 64)
    assert space.has_free_columns
    mask = Policy(space).mask(torch.zeros(1, 4, dtype=torch.bool), torch.ones(1, 5, dtype=torch.bool))
    assert mask.tolist() == [[False] * 4 + [True]]


def test_without_a_sketch_columns_are_groups():
    space = PatchSpace.of(PatchLayout(8, 8, 1, 4), [1.0] * 4)
    assert space.columns_are_groups
    assert space.n_entries == 64


@pytest.mark.parametrize("given", [[[1, 2, 3], [4, 5, 6]], np.array([[1, 2, 3], [4, 5, 6]]), range(1, 7)])
def test_prices_may_be_a_grid_of_rows_and_columns(given):
    assert ImageSchema.of_layout(PatchLayout(4, 6, 1, 2), given).space.costs == (1, 2, 3, 4, 5, 6)


def test_a_grid_of_prices_has_the_shape_of_the_patches():
    with pytest.raises(AskwiseError, match=r"costs is a grid of 3 x 2 prices, and .* 2 rows x 3 columns"):
        ImageSchema.of_layout(PatchLayout(4, 6, 1, 2), [[1, 2], [3, 4], [5, 6]])

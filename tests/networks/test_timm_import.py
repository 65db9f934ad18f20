"""timm in a fresh process, where nothing but our own import has prepared torchvision."""

import subprocess
import sys

from askwise.networks.timm_import import installed_version

BUILD = """
import torch
from askwise import DimeImageClassifier
from askwise.core.tasks import Classification
from askwise.data.images.patches import PatchLayout, PatchSpace

space = PatchSpace.of(PatchLayout(32, 32, 3, 8), [1.0] * 16)
policy = DimeImageClassifier(backbone="resnet10t", device="cpu").build(space, Classification(("cat", "dog")))
with torch.no_grad():
    belief = policy.eval()(torch.zeros(1, 3 * 32 * 32, dtype=torch.uint8), torch.zeros(1, 16, dtype=torch.bool))
print(tuple(belief.outputs.shape), tuple(belief.scores.shape))
"""

# The first error is of the torchvision in the working directory, the second of a timm that is not there.
FAIL = """
import sys
from askwise import AskwiseError, TimmBackbone

for missing in ([], ["timm"]):
    sys.modules |= dict.fromkeys(missing)
    try:
        TimmBackbone("resnet10t").check()
    except AskwiseError as error:
        print(error)
"""


def run_fresh(code, folder):
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_networks_on_a_timm_backbone_are_built_in_a_fresh_process(tmp_path):
    assert run_fresh(BUILD, tmp_path) == ["(1, 2) (1, 16)"]


def test_a_timm_that_cant_be_imported_is_explained(tmp_path):
    (tmp_path / "torchvision.py").write_text("raise RuntimeError('operator torchvision::nms does not exist')")
    broken, missing = run_fresh(FAIL, tmp_path)
    for line in (broken, missing):
        assert "needs timm, which can't be loaded" in line
        assert "Found: timm " in line
        assert "'small-cnn', 'small-vit'" in line
    assert "(operator torchvision::nms does not exist)" in broken
    assert "install the torchvision that belongs to this torch" in broken
    assert "pip install 'askwise[image]'" in missing


def test_a_package_that_is_not_installed_has_no_version():
    assert installed_version("askwise") != installed_version("no-such-package") == "(not installed)"

"""Images in which one patch tells everything, for tests."""

import numpy as np

# Settings that train on a few hundred such images in seconds, on a CPU.
FAST_IMAGES = {
    "patch": 4, "hidden": 16, "layers": 1, "max_steps": 4, "epochs": 6, "pretrain_epochs": 12, "batch_size": 32,
    "learning_rate": 5e-3, "augment": [], "random_state": 0,
}  # fmt: skip
# Of the patches of 4 x 4 in images of 16 x 16.
TELLING = "r2c3"
LABELS = np.array(["blue", "green", "red"])


def make_images(n: int = 240, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Images (n, 16, 16, 3) of noise, and labels: the colour of the patch in row 2, column 3."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = rng.integers(0, 256, (n, 16, 16, 3)).astype(np.uint8)
    X[:, 4:8, 8:12] = 0
    X[np.arange(n), 4:8, 8:12, 2 - y] = 220
    return X, LABELS[y]

"""A small residual network of our own, which needs no other package."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from askwise.networks.pixels import SEEN_CHANNELS


def conv_norm(before: int, after: int, size: int, stride: int = 1) -> nn.Sequential:
    """A convolution that keeps the size, up to its stride, and a batch norm."""
    return nn.Sequential(nn.Conv2d(before, after, size, stride, padding=size // 2, bias=False), nn.BatchNorm2d(after))


class Residual(nn.Module):
    """Two convolutions, added to what comes in."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.first = conv_norm(before, after, 3, stride)
        self.second = conv_norm(after, after, 3)
        self.stride = stride
        same = before == after and stride == 1
        self.past = nn.Identity() if same else conv_norm(before, after, 1)

    def forward(self, x: Tensor) -> Tensor:
        # Every second place is taken here, not by the convolution: with few channels, channels last, the gradient of
        # one of size 1 with a stride overwrites memory on CPUs (oneDNN issue 6035).
        past = self.past(x[:, :, :: self.stride, :: self.stride])
        return F.relu(past + self.second(F.relu(self.first(x))))


class SmallCnn(nn.Module):
    """Images to a map (batch, width, h, w), of 8 x 8 where they have 32, 64 or 128 pixels a side."""

    def __init__(self, img_size: tuple[int, int], width: int = 256, depth: int = 2) -> None:
        super().__init__()
        small = min(img_size)
        widths = [max(width // 4, 1), max(width // 4, 1), max(width // 2, 1), width]
        strides = [2 if small >= 64 else 1, 2 if small >= 128 else 1, 2, 2]
        layers: list[nn.Module] = [conv_norm(SEEN_CHANNELS, widths[0], 3, strides[0]), nn.ReLU()]
        for before, after, stride in zip(widths[:-1], widths[1:], strides[1:], strict=True):
            layers += [Residual(before, after, stride)] + [Residual(after, after, 1) for _ in range(depth - 1)]
        self.layers = nn.Sequential(*layers)

    def forward(self, images: Tensor) -> Tensor:
        return self.layers(images)

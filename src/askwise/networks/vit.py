"""A small vision transformer of our own, which needs no other package. Its parts are called as timm calls them."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from askwise.networks.pixels import SEEN_CHANNELS


class Attention(nn.Module):
    """Tokens (batch, length, width) look at each other, or at others; attn_mask (batch, 1, 1, length): which exist."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x: Tensor, others: Tensor, attn_mask: Tensor | None = None) -> Tensor:
        query = self.query(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
        key, value = self.key_value(others).unflatten(2, (2, self.heads, -1)).permute(2, 0, 3, 1, 4)
        found = F.scaled_dot_product_attention(query, key, value, attn_mask)
        return self.proj(found.transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Attention, then a perceptron, each added to what comes in."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor, attn_mask: Tensor | None = None) -> Tensor:
        at = self.norm1(x)
        x = x + self.attn(at, at, attn_mask)
        return x + self.mlp(self.norm2(x))


class SmallVit(nn.Module):
    """Patches to tokens, a class token and learnt positions, blocks, and a norm."""

    num_prefix_tokens = 1

    def __init__(
        self, img_size: tuple[int, int], patch_size: int, width: int = 192, depth: int = 8, heads: int = 3
    ) -> None:
        super().__init__()
        self.grid = img_size[0] // patch_size, img_size[1] // patch_size
        self.num_features = width
        self.proj = nn.Conv2d(SEEN_CHANNELS, width, patch_size, patch_size)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = nn.Parameter(torch.randn(1, 1 + self.grid[0] * self.grid[1], width) * 0.02)
        self.norm_pre = nn.Identity()
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        # Lines of a patch are few numbers around 0: a token should start as large as a position does.
        nn.init.trunc_normal_(self.proj.weight, std=0.02)

    def patch_embed(self, images: Tensor) -> Tensor:
        return self.proj(images).flatten(2).transpose(1, 2)

    def _pos_embed(self, tokens: Tensor) -> Tensor:
        return torch.cat([self.cls_token.expand(tokens.shape[0], -1, -1), tokens], 1) + self.pos_embed

    def forward_features(self, images: Tensor) -> Tensor:
        return self.norm(self.blocks(self.norm_pre(self._pos_embed(self.patch_embed(images)))))

    def forward_head(self, tokens: Tensor, pre_logits: bool = True) -> Tensor:
        del pre_logits
        return tokens[:, 0]

"""A small decoder-only transformer and its data: plain torch, seeded, float64 capable."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

# Shapes: B samples, L tokens, D model, H heads, K one head, F hidden, V vocabulary


class RMSNorm(nn.Module):
    """Scale each vector to root mean square 1, then by a learned weight."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x_BLD: Tensor) -> Tensor:
        mean_square = x_BLD.square().mean(-1, keepdim=True)
        return x_BLD * torch.rsqrt(mean_square + 1e-6) * self.weight


class Attention(nn.Module):
    """Causal attention with rotary positions, as matmuls (so that FLOP counters see them)."""

    def __init__(self, dim: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query = nn.Linear(dim, dim, bias=False)
        self.key = nn.Linear(dim, dim, bias=False)
        self.value = nn.Linear(dim, dim, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)

    def forward(self, x_BLD: Tensor) -> Tensor:
        q_BHLK = rotate(self._split_heads(self.query(x_BLD)))
        k_BHLK = rotate(self._split_heads(self.key(x_BLD)))
        v_BHLK = self._split_heads(self.value(x_BLD))
        scores_BHLL = q_BHLK @ k_BHLK.transpose(-1, -2) / math.sqrt(q_BHLK.shape[-1])
        future_LL = torch.ones_like(scores_BHLL[0, 0], dtype=torch.bool).triu(1)
        attended_BHLK = scores_BHLL.masked_fill(future_LL, -math.inf).softmax(-1) @ v_BHLK
        return self.out(attended_BHLK.transpose(1, 2).reshape(x_BLD.shape))

    def _split_heads(self, x_BLD: Tensor) -> Tensor:
        return x_BLD.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)


def rotate(x_BHLK: Tensor) -> Tensor:
    """Return `x` with each pair of features turned by an angle that grows with the position.

    Rotary position embedding; Su et al. 2021, eq. 34. K must be even.
    """
    length, half = x_BHLK.shape[-2], x_BHLK.shape[-1] // 2
    position_L = torch.arange(length, device=x_BHLK.device, dtype=x_BHLK.dtype)
    frequency = torch.arange(half, device=x_BHLK.device, dtype=x_BHLK.dtype)
    angle = position_L[:, None] * 10_000.0 ** (-frequency / half)
    first, second = x_BHLK.chunk(2, dim=-1)
    turned = (
        first * angle.cos() - second * angle.sin(),
        first * angle.sin() + second * angle.cos(),
    )
    return torch.cat(turned, dim=-1)


class SwiGLU(nn.Module):
    """The feed-forward part: a gated hidden layer; Shazeer 2020, eq. 6."""

    def __init__(self, dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.gate = nn.Linear(dim, hidden_dim, bias=False)
        self.up = nn.Linear(dim, hidden_dim, bias=False)
        self.down = nn.Linear(hidden_dim, dim, bias=False)

    def forward(self, x_BLD: Tensor) -> Tensor:
        return self.down(nn.functional.silu(self.gate(x_BLD)) * self.up(x_BLD))


class Block(nn.Module):
    """One transformer block: attention and feed-forward, each on the norm of its input, added."""

    def __init__(self, dim: int, num_heads: int, hidden_dim: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(dim)
        self.attention = Attention(dim, num_heads)
        self.feed_forward_norm = RMSNorm(dim)
        self.feed_forward = SwiGLU(dim, hidden_dim)
        self.dropout = nn.Dropout(dropout) if dropout else nn.Identity()

    def forward(self, x_BLD: Tensor) -> Tensor:
        x_BLD = x_BLD + self.dropout(self.attention(self.attention_norm(x_BLD)))
        return x_BLD + self.dropout(self.feed_forward(self.feed_forward_norm(x_BLD)))


class Transformer(nn.Module):
    """Decoder-only transformer: tokens (B, L) to the next token's logits (B, L, V).

    The same `seed` gives the same weights on every rank and, up to rounding, in every dtype.
    With `tied=True` the head and the embedding are one parameter. `dropout` is the part that is
    zeroed in training of what a block adds, drawn from the global random state.
    """

    def __init__(
        self,
        *,
        vocab_size: int = 61,
        dim: int = 24,
        num_heads: int = 2,
        hidden_dim: int = 45,
        num_blocks: int = 3,
        tied: bool = False,
        dropout: float = 0.0,
        seed: int = 0,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        if dim % (2 * num_heads):
            raise ValueError(f"dim {dim} is not a multiple of 2 * num_heads {num_heads}")
        self.embedding = nn.Embedding(vocab_size, dim)
        self.blocks = nn.ModuleList(
            Block(dim, num_heads, hidden_dim, dropout) for _ in range(num_blocks)
        )
        self.norm = RMSNorm(dim)
        self.head = nn.Linear(dim, vocab_size, bias=False)
        if tied:
            self.head.weight = self.embedding.weight
        self.to(torch.float64)
        self._initialize(seed)
        self.to(dtype)

    @torch.no_grad()
    def _initialize(self, seed: int) -> None:
        """Draw every matrix with standard deviation 1 / sqrt(columns); norms stay at 1."""
        generator = torch.Generator().manual_seed(seed)
        for parameter in self.parameters():
            if parameter.ndim == 2:
                parameter.normal_(0.0, parameter.shape[1] ** -0.5, generator=generator)

    def forward(self, tokens_BL: Tensor) -> Tensor:
        x_BLD = self.embedding(tokens_BL)
        for block in self.blocks:
            x_BLD = block(x_BLD)
        return self.head(self.norm(x_BLD))


def next_token_loss(logits_BLV: Tensor, tokens_BL: Tensor) -> Tensor:
    """Return the mean cross-entropy of predicting token t + 1 from the tokens up to t."""
    return nn.functional.cross_entropy(logits_BLV[:, :-1].flatten(0, 1), tokens_BL[:, 1:].flatten())


def token_samples(
    sample_ids: Sequence[int], *, seq_len: int = 12, vocab_size: int = 61, seed: int = 0
) -> Tensor:
    """Return the samples of these ids, (len(sample_ids), seq_len): a pure function of seed and id.

    Each counts on by a stride of its own, modulo `vocab_size`, with one token in eight replaced at
    random: something to learn, and something that cannot be.
    """
    samples = [_token_sample(seed, sample_id, seq_len, vocab_size) for sample_id in sample_ids]
    return torch.stack(samples) if samples else torch.empty(0, seq_len, dtype=torch.long)


def _token_sample(seed: int, sample_id: int, seq_len: int, vocab_size: int) -> Tensor:
    generator = torch.Generator().manual_seed(1_000_003 * seed + int(sample_id))
    start = torch.randint(vocab_size, (1,), generator=generator)
    stride = torch.randint(1, 4, (1,), generator=generator)
    counted = (start + stride * torch.arange(seq_len)) % vocab_size
    noise = torch.randint(vocab_size, (seq_len,), generator=generator)
    is_noise = torch.rand(seq_len, generator=generator) < 1 / 8
    return torch.where(is_noise, noise, counted)

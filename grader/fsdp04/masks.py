"""Step 2: the noise of a sample follows from seed, step and id alone."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.fsdp04.exercise import Check
from grader.judge_samples import changes_state, judge_state
from grader.mistakes import Mistake
from grader.verdict import Failure
from grader.whereabouts import elsewhere

MaskTokens = Callable[[Tensor, Sequence[int], int, Mapping[str, Any]], Tensor]

# Rows of 96 tokens: that two masks are alike by chance happens once in 10^10 times.
SEQ_LEN = 96
NUM_SAMPLES = 60
CONFIG = {
    "num_samples": NUM_SAMPLES,
    "num_steps": 24,
    "seq_len": SEQ_LEN,
    "global_batch_size": 12,
    "mask_token": 61,
    "mask_rate": 1 / 8,
    "seed": 2,
}
STEPS = (0, 1, 2, 3, 11, 12, 13)
RATES = (1 / 8, 1 / 2)
TOLERATED = (
    0.02  # four standard deviations of the part that is masked, of 40,320 tokens at rate 1/8
)


@dataclass(frozen=True)
class Observation:
    """What masking gave: a text in `form` if it was no such tensor.

    `masks` holds (step, id, row) for the whole data in some steps; `alone` the same, each id by
    itself; `reversed` in reversed order, `other_seed` with another seed.
    """

    form: str = ""
    masks: Tensor | None = None
    alone: Tensor | None = None
    reversed: Tensor | None = None
    other_seed: Tensor | None = None
    rates: tuple[float, ...] = ()
    wrong_token: int | None = None
    is_in_place: bool = False


def check_mask_tokens(mask_tokens: MaskTokens) -> None:
    """Judge `mask_tokens(tokens, ids, step, config) -> masked copy`."""
    proof = "a row's mask is the same on any rank, in any batch, and differs by step, id and seed"
    with Check("mask_tokens", proof, mask_tokens) as check:
        first, second = (
            check.launch(launched, mask_tokens, world_size=1).results[0]
            for launched in (observe, observe_elsewhere)
        )
        check.judge(judge(first, second))
        one_call = (_tokens(), list(range(NUM_SAMPLES)), 1, CONFIG)
        run = check.launch(changes_state, mask_tokens, *one_call, world_size=1)
        check.judge(judge_state(run.results[0]))


# -- observe --------------------------------------------------------------------------------------


def observe(mask_tokens: MaskTokens) -> Observation:
    """Mask the whole data in several steps, orders and companies."""
    ids = list(range(NUM_SAMPLES))
    tokens = _tokens()
    given = tokens.clone()
    came = mask_tokens(given, ids, 0, dict(CONFIG))
    if form := _form(came, tokens):
        return Observation(form)
    is_in_place = not torch.equal(given, tokens)
    changed = came[came != tokens]
    wrong = changed[changed != CONFIG["mask_token"]]

    def mask(order: Sequence[int], step: int, **changes: Any) -> Tensor:
        return (
            mask_tokens(_tokens()[order], list(order), step, {**CONFIG, **changes}) != tokens[order]
        )

    backwards = ids[::-1]
    return Observation(
        masks=torch.stack([mask(ids, step) for step in STEPS]),
        alone=torch.cat([mask([sample_id], STEPS[1]) for sample_id in ids]),
        reversed=mask(backwards, STEPS[1])[backwards],
        other_seed=mask(ids, STEPS[1], seed=3),
        rates=tuple(
            torch.stack([mask(ids, step, mask_rate=rate) for step in STEPS]).double().mean().item()
            for rate in RATES
        ),
        wrong_token=int(wrong[0]) if len(wrong) else None,
        is_in_place=is_in_place,
    )


def observe_elsewhere(mask_tokens: MaskTokens) -> Observation:
    """Observe as in another Python, on another rank: other global random states."""
    torch.manual_seed(1234)
    with elsewhere():
        return observe(mask_tokens)


def _tokens() -> Tensor:
    """Return tokens, none of which is the mask."""
    return torch.arange(NUM_SAMPLES * SEQ_LEN).remainder(61).view(NUM_SAMPLES, SEQ_LEN)


def _form(came: object, tokens: Tensor) -> str:
    if not isinstance(came, Tensor):
        return type(came).__name__
    if came.shape != tokens.shape or came.dtype != tokens.dtype:
        return f"{came.dtype} of shape {tuple(came.shape)}"
    return ""


# -- judge ----------------------------------------------------------------------------------------


def judge(seen: Observation, again: Observation) -> Failure | None:
    """Judge what is masked, by what, and what it depends on."""
    if seen.form or seen.masks is None or again.masks is None:
        expected = f"a tensor like tokens: int64 of shape {(NUM_SAMPLES, SEQ_LEN)}"
        return Failure(mistake=Mistake.WRONG_RESULT, expected=expected, came=seen.form)
    if seen.is_in_place:
        expected, came = "a copy", "tokens was changed"
        return Failure(mistake=Mistake.TOKENS_CHANGED, expected=expected, came=came)
    if seen.wrong_token is not None:
        expected = f"masked tokens become {CONFIG['mask_token']}, config['mask_token']"
        came = f"one became {seen.wrong_token}"
        return Failure(mistake=Mistake.WRONG_MASKS, expected=expected, came=came)
    for rate, came_rate in zip(RATES, seen.rates, strict=True):
        if abs(rate - came_rate) > TOLERATED:
            expected = f"{rate:.3f} of all tokens masked at mask_rate {rate}"
            came = f"{came_rate:.3f}"
            return Failure(mistake=Mistake.WRONG_MASKS, expected=expected, came=came)
    if not torch.equal(seen.masks, again.masks):
        return Failure(mistake=Mistake.NOT_DETERMINISTIC, expected="the same masks on every rank")
    return _judge_company(seen) or _judge_repeats(seen.masks, seen.other_seed)


def _judge_company(seen: Observation) -> Failure | None:
    """Judge that a row's mask does not depend on the rows beside it."""
    if seen.masks is None or seen.alone is None or seen.reversed is None:
        return None
    for came, what in ((seen.alone, "alone in its batch"), (seen.reversed, "in another place")):
        changed = (came != seen.masks[1]).any(dim=1).nonzero().flatten().tolist()
        if changed:
            return Failure(
                mistake=Mistake.NOISE_FOLLOWS_BATCH,
                expected="the mask of a sample in a step is one and the same",
                came=f"another mask when it is {what}",
                where=f"id {changed[0]}, step {STEPS[1]}",
            )
    return None


def _judge_repeats(masks: Tensor, other_seed: Tensor | None) -> Failure | None:
    """Judge that no two (step, id) share a mask, and that the seed takes part."""
    rows = {(step, i): masks[n, i] for n, step in enumerate(STEPS) for i in range(NUM_SAMPLES)}
    first_with: dict[bytes, tuple[int, int]] = {}
    for place, row in rows.items():
        earlier = first_with.setdefault(row.numpy().tobytes(), place)
        if earlier != place:
            places = itertools.chain(earlier, place)
            return Failure(
                mistake=Mistake.NOISE_REPEATS,
                expected="another mask for every step and every id",
                came="step {}, id {} and step {}, id {} have the same".format(*places),
            )
    if other_seed is not None and torch.equal(other_seed, masks[1]):
        return Failure(mistake=Mistake.SEED_IGNORED, next_step="let config['seed'] take part")
    return None

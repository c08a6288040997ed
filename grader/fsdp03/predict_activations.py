"""Step 11: predict activation bytes of deep models from three small measurements."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grader.cases import Case
from grader.fsdp03.checkpointing import checkpoint_every, keep_all, with_blocks
from grader.fsdp03.exercise import Check
from grader.fsdp03.recompute_run import Apply, activations_by_step, observe_steps
from grader.mistakes import Mistake
from grader.plain import as_number
from grader.verdict import Failure

Predict = Callable[[int, int, int, int, int], float]

SEQ_LENS = (16, 40)
TARGETS = ((4, 0), (3, 3), (4, 2))  # (num_blocks, num_checkpointed)
MODEL = {"num_blocks": max(num_blocks for num_blocks, _ in TARGETS)}


@dataclass(frozen=True)
class Measured:
    """Activation bytes at the end of forward: three small models, and the ones to predict."""

    one_block: int
    two_blocks: int
    one_checkpointed: int
    targets: tuple[int, ...]


def check_predict_activation_bytes(predict_activation_bytes: Predict) -> None:
    """Judge the prediction for models of up to 4 blocks, some of them checkpointed."""
    proof = f"the prediction is what a rank holds, to the byte, for {len(TARGETS)} models each at\n"
    proof += "  two sequence lengths"
    with Check("predict_activation_bytes", proof, predict_activation_bytes) as check:
        measured = []
        for seq_len in SEQ_LENS:
            case = Case(1, MODEL)
            run = check.launch(
                observe_steps,
                _ways(),
                case,
                seq_len,
                counts_flops=False,
                world_size=1,
                case=case.text,
                memory=True,
            )
            one, two, checkpointed, *targets = activations_by_step(run, 3 + len(TARGETS))
            measured.append(Measured(one, two, checkpointed, tuple(targets)))
        run = check.launch(observe, predict_activation_bytes, measured, world_size=1)
        for seq_len, answers, truth in zip(SEQ_LENS, run.results[0], measured, strict=True):
            check.judge(judge(answers, truth, seq_len))


def _ways() -> list[Apply]:
    small = [with_first(1, 0), with_first(2, 0), with_first(1, 1)]
    return [*small, *(with_first(*target) for target in TARGETS)]


def with_first(num_blocks: int, num_checkpointed: int) -> Apply:
    """Return what cuts a model to `num_blocks` and checkpoints `num_checkpointed` of them."""
    every = num_blocks // num_checkpointed if num_checkpointed else 0
    apply: Apply = functools.partial(checkpoint_every, every=every) if every else keep_all
    return functools.partial(with_blocks, num_blocks=num_blocks, apply=apply)


def observe(predict: Predict, measured: Sequence[Measured]) -> list[list[float | str]]:
    """Return the predictions, per sequence length, of every target."""
    return [
        [
            as_number(predict(one.one_block, one.two_blocks, one.one_checkpointed, *target))
            for target in TARGETS
        ]
        for one in measured
    ]


def judge(answers: Sequence[float | str], truth: Measured, seq_len: int) -> Failure | None:
    """Compare with the measured bytes; name the usual ways of getting it wrong."""
    for came, expected, target in zip(answers, truth.targets, TARGETS, strict=True):
        if not isinstance(came, str) and abs(came - expected) < 0.5:
            continue
        return Failure(
            mistake=Mistake.WRONG_RESULT if isinstance(came, str) else _name(came, truth, *target),
            expected=f"{expected:,} bytes measured",
            came=came if isinstance(came, str) else f"{came:,.0f} bytes predicted",
            where=f"{target[0]} blocks, {target[1]} checkpointed, sequences of {seq_len}",
        )
    return None


def _name(came: float, truth: Measured, num_blocks: int, num_checkpointed: int) -> Mistake:
    block = truth.two_blocks - truth.one_block
    saved = truth.one_block - truth.one_checkpointed
    rest = truth.one_block - block
    known = {
        Mistake.REST_COUNTED_PER_BLOCK: num_blocks * truth.one_block - num_checkpointed * saved,
        Mistake.CHECKPOINTED_COUNTED_AS_NOTHING: rest + (num_blocks - num_checkpointed) * block,
    }
    named = [mistake for mistake, value in known.items() if abs(came - value) < 0.5]
    return named[0] if named else Mistake.ACTIVATIONS_MISCOUNTED

"""DeepSpeed engines that save on some ranks and load on others, as they are or made universal."""

import contextlib
import io
import logging
from argparse import Namespace
from typing import Any

import torch.distributed as dist
from torch import Tensor

from grader.cases import FIXED_BATCH_SIZE, fixed_batch, share_of
from grader.shards import gathered
from sandbox import toys

TAG = "saved"
UNIVERSAL = "universal"
PERSISTENT_NUMEL = 100  # in ZeRO-3: some parameters stay whole, most do not


class Engine:
    """A toy under DeepSpeed's ZeRO. Everything here is collective: all ranks."""

    def __init__(self, stage: int, is_universal: bool = False, seed: int = 0) -> None:
        import deepspeed
        from deepspeed.utils import logger

        logger.setLevel(logging.ERROR)
        self._tag = UNIVERSAL if is_universal else TAG
        self._model = toys.Transformer(num_blocks=1, seed=seed)
        zero: dict[str, Any] = {"stage": stage}
        if stage == 3:
            zero["stage3_param_persistence_threshold"] = PERSISTENT_NUMEL
        config = {
            "train_batch_size": FIXED_BATCH_SIZE,
            "train_micro_batch_size_per_gpu": FIXED_BATCH_SIZE // dist.get_world_size(),
            "optimizer": {"type": "AdamW", "params": {"lr": 1e-2, "torch_adam": True}},
            "zero_optimization": zero,
            "checkpoint": {"load_universal": is_universal},
        }
        parameters = list(self._model.parameters())
        self._engine, *_ = deepspeed.initialize(
            model=self._model, config=config, model_parameters=parameters
        )

    def step(self, number: int) -> None:
        """Train on this rank's part of a batch that is the same for every number of ranks."""
        tokens = share_of(fixed_batch(number))
        self._engine.backward(toys.next_token_loss(self._engine(tokens), tokens))
        self._engine.step()

    def save(self, path: str) -> None:
        """Save as DeepSpeed does: each rank its part of the optimizer's state."""
        self._engine.save_checkpoint(path, tag=TAG)

    def load(self, path: str, *, weights_only: bool) -> None:
        """Load what `save` has written, or `make_universal` after it, into a universal engine."""
        self._engine.load_checkpoint(path, tag=self._tag, load_module_only=weights_only)

    def weights(self) -> dict[str, Tensor]:
        """Return every weight whole."""
        return gathered(self._model)

    def moments(self) -> dict[str, Tensor]:
        """Return the first moment of every weight whole, once a step was taken after loading."""
        from deepspeed.utils import safe_get_full_optimizer_state

        named = self._model.named_parameters()
        return {name: safe_get_full_optimizer_state(w, "exp_avg").clone() for name, w in named}


def make_universal(path: str) -> None:
    """Rewrite a checkpoint, a file per weight and state. One process alone, after all have saved.

    What is run as `ds_to_universal.py --inject_missing_state`; it prints much.
    """
    from deepspeed.checkpoint import ds_to_universal

    options = Namespace(
        input_folder=f"{path}/{TAG}",
        output_folder=f"{path}/{UNIVERSAL}",
        num_extract_workers=1,
        num_merge_workers=1,
        keep_temp_folder=False,
        strict=True,
        inject_missing_state=True,  # ZeRO-1 and 2: trainers are to save it, and few do
    )
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        ds_to_universal.main(options)

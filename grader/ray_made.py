"""Let a trainer be made and not run: fit() is refused meanwhile. Imports Ray."""

import contextlib
from collections.abc import Iterator
from typing import Any

from ray.train.torch import TorchTrainer

FIT_CALLED = "make_trainer called fit(); it is to return the trainer."


@contextlib.contextmanager
def refusing_fit() -> Iterator[None]:
    """Raise RuntimeError from every fit() inside: it would start a Ray that nobody ends."""
    trainers: Any = TorchTrainer
    fit = trainers.fit
    trainers.fit = _refuse
    try:
        yield
    finally:
        trainers.fit = fit


def _refuse(*_: Any, **__: Any) -> None:
    raise RuntimeError(FIT_CALLED)

"""Step 1: flat tensors, their padding, and views of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from grader.fsdp02.exercise import Check
from grader.fsdp02.flat import padded_numel
from grader.mistakes import Mistake
from grader.verdict import Failure
from sandbox.failure import count_ranks

Flatten = Callable[[list[Tensor], int], Tensor]
Unflatten = Callable[[Tensor, list[torch.Size]], list[Tensor]]
Partition = Callable[[Tensor, int, int], Tensor]

SHAPES = (((2, 3), (4,)), ((3, 5), (7,), (1, 1), (2, 2, 3)), ((2,),), ((8, 3), (24,)))
CASES = [(shapes, world_size) for shapes in SHAPES for world_size in (1, 2, 3, 4)]


@dataclass(frozen=True)
class Observation:
    """The three functions' results for one list of tensors."""

    flat: Tensor | str
    partitions: tuple[Tensor | str, ...] = ()
    are_partitions_views: bool = True
    views: tuple[Tensor, ...] | str = ()
    are_views: bool = True


def check_partition(flatten: Flatten, unflatten: Unflatten, partition: Partition) -> None:
    """Judge `flatten`, `unflatten` and `partition` together."""
    proof = f"padded once, cut evenly, nothing copied: {len(CASES)} lists of shapes and world sizes"
    with Check("partition", proof, flatten, unflatten, partition) as check:
        run = check.launch(observe, flatten, unflatten, partition, world_size=1)
        for (shapes, world_size), seen in zip(CASES, run.results[0], strict=True):
            if failure := judge(seen, shapes, world_size):
                where = f"shapes {', '.join(map(str, shapes))} on {count_ranks(world_size)}"
                check.judge(replace(failure, where=where))


def observe(flatten: Flatten, unflatten: Unflatten, partition: Partition) -> list[Observation]:
    """Call the three for every case, in bfloat16, which a wrong padding would widen."""
    return [_observe(flatten, unflatten, partition, *case) for case in CASES]


def tensors_of(shapes: Sequence[tuple[int, ...]]) -> list[Tensor]:
    """Return tensors of these shapes; all elements differ, and none is 0."""
    numels = [torch.Size(shape).numel() for shape in shapes]
    flat = torch.arange(1, sum(numels) + 1).to(torch.bfloat16)
    return [part.view(shape) for part, shape in zip(flat.split(numels), shapes, strict=True)]


def _observe(
    flatten: Flatten,
    unflatten: Unflatten,
    partition: Partition,
    shapes: Sequence[tuple[int, ...]],
    world_size: int,
) -> Observation:
    flat = flatten([tensor.clone() for tensor in tensors_of(shapes)], world_size)
    if not isinstance(flat, Tensor) or flat.ndim != 1:
        return Observation(_describe(flat))
    flat = flat.detach()
    # Whatever flatten gave: the other two are judged on a flat tensor that is right.
    right = torch.cat([tensor.flatten() for tensor in tensors_of(shapes)])
    right = torch.cat([right, right.new_zeros(-len(right) % world_size)])
    partitions = [partition(right, rank, world_size) for rank in range(world_size)]
    views = unflatten(right, [torch.Size(shape) for shape in shapes])
    is_list = isinstance(views, list | tuple) and all(isinstance(v, Tensor) for v in views)
    return Observation(
        flat=flat.clone(),
        partitions=tuple(p.clone() if isinstance(p, Tensor) else _describe(p) for p in partitions),
        are_partitions_views=all(_shares(p, right) for p in partitions),
        views=tuple(view.clone() for view in views) if is_list else _describe(views),
        are_views=is_list and all(_shares(view, right) for view in views),
    )


def _shares(view: Any, flat: Tensor) -> bool:
    storage = flat.untyped_storage().data_ptr()
    return isinstance(view, Tensor) and view.untyped_storage().data_ptr() == storage


def _describe(value: object) -> str:
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    return "None" if value is None else f"a {type(value).__name__}"


def judge(seen: Observation, shapes: Sequence[tuple[int, ...]], world_size: int) -> Failure | None:
    """Judge the flat tensor, then its partitions, then the views in the old shapes."""
    plain = torch.cat([tensor.flatten() for tensor in tensors_of(shapes)])
    flat = torch.cat([plain, plain.new_zeros(-len(plain) % world_size)])
    return (
        _judge_flat(seen.flat, plain, shapes, world_size)
        or _judge_partitions(seen, flat, world_size)
        or _judge_views(seen, shapes)
    )


def _judge_flat(
    flat: Tensor | str, plain: Tensor, shapes: Sequence[tuple[int, ...]], world_size: int
) -> Failure | None:
    numel = padded_numel(len(plain), world_size)
    expected = f"flatten: a 1-D tensor of {numel} elements, torch.bfloat16 as given"
    if isinstance(flat, str):
        return Failure(mistake=Mistake.WRONG_RESULT, expected=expected, came=flat)
    came = f"{len(flat)} elements, {flat.dtype}"
    is_each = torch.equal(flat, _padded_each(shapes, world_size))
    if is_each and not torch.equal(flat[: len(plain)], plain):
        return Failure(
            mistake=Mistake.PADDED_EACH, expected=expected, came=f"{came}, zeros between"
        )
    if len(flat) % world_size:
        return Failure(mistake=Mistake.NOT_PADDED, expected=expected, came=came)
    if len(flat) != numel:
        return Failure(mistake=Mistake.PADDED_TOO_MUCH, expected=expected, came=came)
    if flat.dtype != plain.dtype:
        return Failure(mistake=Mistake.WRONG_RESULT, expected=expected, came=came)
    if not torch.equal(flat[: len(plain)], plain):
        return Failure(
            mistake=Mistake.WRONG_ORDER, expected=_list(plain), came=_list(flat[: len(plain)])
        )
    if flat[len(plain) :].any():
        came = _list(flat[len(plain) :])
        return Failure(mistake=Mistake.PADDING_NOT_ZERO, expected="zeros", came=came)
    return None


def _padded_each(shapes: Sequence[tuple[int, ...]], world_size: int) -> Tensor:
    """Return what comes of padding every tensor by itself."""
    tensors = [tensor.flatten() for tensor in tensors_of(shapes)]
    return torch.cat([torch.cat([t, t.new_zeros(-len(t) % world_size)]) for t in tensors])


def _judge_partitions(seen: Observation, flat: Tensor, world_size: int) -> Failure | None:
    for rank, (came, expected) in enumerate(
        zip(seen.partitions, flat.chunk(world_size), strict=True)
    ):
        if isinstance(came, str) or not torch.equal(came.flatten(), expected):
            return Failure(
                mistake=Mistake.WRONG_PARTITION,
                expected=f"partition of rank {rank}: {_list(expected)}",
                came=came if isinstance(came, str) else _list(came.flatten()),
            )
    if not seen.are_partitions_views:
        expected_text = "partition: a view of the flat tensor"
        return Failure(mistake=Mistake.NOT_A_VIEW, expected=expected_text, came="a copy")
    return None


def _judge_views(seen: Observation, shapes: Sequence[tuple[int, ...]]) -> Failure | None:
    expected = f"unflatten: {len(shapes)} tensors of the shapes given"
    if isinstance(seen.views, str):
        return Failure(mistake=Mistake.WRONG_RESULT, expected=expected, came=seen.views)
    came_shapes = [tuple(view.shape) for view in seen.views]
    if came_shapes != list(shapes):
        came = f"{len(came_shapes)} of shapes {', '.join(map(str, came_shapes))}"
        return Failure(mistake=Mistake.WRONG_RESULT, expected=expected, came=came)
    for view, tensor in zip(seen.views, tensors_of(shapes), strict=True):
        if not torch.equal(view, tensor):
            return Failure(
                mistake=Mistake.WRONG_ORDER,
                expected=f"unflatten: {_list(tensor.flatten())}",
                came=_list(view.flatten()),
            )
    if not seen.are_views:
        expected = "unflatten: views of the flat tensor"
        return Failure(mistake=Mistake.NOT_A_VIEW, expected=expected, came="a copy")
    return None


def _list(values: Tensor) -> str:
    shown = ", ".join(f"{value:g}" for value in values[:8].tolist())
    return f"[{shown}{', …' if len(values) > 8 else ''}]"

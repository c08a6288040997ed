"""Judge what is a unit: each block one of its own, freed after its forward, the root around."""

from collections.abc import Iterable, Mapping, Sequence

from grader.fsdp01.units import Unit
from grader.mistakes import Mistake
from grader.shards import Shard
from grader.verdict import Failure


def judge_wrapping(weights: Mapping[str, Shard], blocks: Iterable[str]) -> Failure | None:
    """Find parameters that are still plain tensors."""
    plain = [name for name, shard in weights.items() if shard.placements is None]
    if not plain:
        return None
    came = f"{len(plain)} plain tensors, '{plain[0]}' the first"
    outside = [name for name in plain if not _is_inside(name, blocks)]
    if plain == outside and len(plain) < len(weights):
        mistake = Mistake.ROOT_NOT_WRAPPED
    elif len(plain) == len(weights):
        mistake = Mistake.NOT_WRAPPED
    else:
        mistake = Mistake.BLOCK_NOT_WRAPPED
    return Failure(mistake=mistake, expected="every parameter a DTensor", came=came)


def _is_inside(name: str, modules: Iterable[str]) -> bool:
    return any(name.startswith(f"{module}.") for module in modules)


def judge_units(blocks: Sequence[str], units: Sequence[Unit]) -> Failure | None:
    """Require that each block is a unit of its own, and is whole no longer than it needs to be."""
    unit_of_block = {module: unit for unit in units for module in unit.modules if module in blocks}
    missing = [block for block in blocks if block not in unit_of_block]
    shared = [unit for unit in units if len(set(unit.modules) & unit_of_block.keys()) > 1]
    if missing or shared:
        named = [" + ".join(module or "the root" for module in unit.modules) for unit in units]
        return Failure(
            mistake=_name_mistake(blocks, units, missing),
            expected=f"{len(blocks)} blocks, each a unit of its own",
            came=f"units: {', '.join(named) or 'none'}",
        )
    kept = [block for block in blocks if not unit_of_block[block].is_resharded]
    if not kept:
        return None
    return Failure(
        mistake=Mistake.NOT_RESHARDED,
        expected="each block resharded after its forward",
        came=f"{', '.join(kept)} with reshard_after_forward=False",
    )


def _name_mistake(blocks: Sequence[str], units: Sequence[Unit], missing: Sequence[str]) -> Mistake:
    if not units:
        return Mistake.NOT_WRAPPED
    return Mistake.ROOT_ONLY_WRAP if missing == list(blocks) else Mistake.BLOCK_NOT_WRAPPED

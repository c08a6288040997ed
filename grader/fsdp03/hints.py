"""The hints of fsdp03, in tiers: a nudge, a direction, nearly the answer."""

from grader.hints import Hints

TIERS = {
    1: (
        "What is stored before the step, what after it, and in which dtype is the sum?",
        "torch promotes: bf16 + fp32 is fp32. Convert both before adding.",
        "stored = weights.to(dtype); lost where stored + updates.to(dtype) == stored, update != 0.",
    ),
    2: (
        "You need no table of limits: torch converts to fp16, and you look at what came out.",
        "Underflow: 0 after the conversion, not 0 before. The scale: 65,504 / the largest size.",
        "2.0 ** math.floor(math.log2(torch.finfo(torch.float16).max / gradients.abs().max())).",
    ),
    3: (
        "Who must be fp32: what is held, what is gathered, or what is added up over the ranks?",
        "One policy, and every fully_shard gets it: the blocks' and the root's.",
        "MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32), mp_policy=.",
    ),
    4: (
        "What moves in a gather, and what in a reduce-scatter? Each has its own size per element.",
        "Gathers: the root once, each block twice. Reduce-scatters: everything once.",
        "(root_numel + 2 * sum(block_numels)) * param_itemsize * (world_size - 1) / world_size.",
    ),
    5: (
        "Which rank knows that another rank overflowed? None, until they talk.",
        "A tensor with 0 or 1 on each rank, and one all_reduce with MAX, called by every rank.",
        "dist.all_reduce(found_inf, op=dist.ReduceOp.MAX), after the loop, outside any `if`.",
    ),
    6: (
        "Which numbers of the ranks may be added: norms, or squares of norms?",
        "Local sum of squares, all_reduce (SUM), root; then the same factor on every rank.",
        "gradient.mul_(min(1.0, max_norm / norm)) for each weight.grad.to_local().",
    ),
    7: (
        "Which of the four things happen in every step, and which only in a good one?",
        "Only clip and optimizer.step() stand inside `if not found_inf`; it comes after unscaling.",
        "(loss * scale).backward(); found_inf = unscale_gradients(model.parameters(), scale); …",
    ),
    8: (
        "Of step, rank and layer, which must be found first?",
        "Keep the records that are not finite; the smallest step among them; its first record.",
        "min(bad, key=lambda record: record.step) returns the first of equal ones.",
    ),
    9: (
        "The wrapper is a new module. Where must it stand, so that the model calls it?",
        "The blocks 0, every, 2 * every, …: range(0, len(model.blocks), every).",
        "model.blocks[number] = checkpoint_wrapper(model.blocks[number]), and return the model.",
    ),
    10: (
        "Which operators are dear? Two of them are all the matmuls of a block.",
        "A policy returns MUST_SAVE where op is aten.mm.default or aten.bmm.default.",
        "context_fn=functools.partial(create_selective_checkpoint_contexts, policy).",
    ),
    11: (
        "What does the second block add to a model with one?",
        "block = two_blocks - one_block; checkpointing one saves one_block - one_checkpointed.",
        "one_block + (num_blocks - 1) * block - num_checkpointed * saved.",
    ),
    12: (
        "How many choices are there, if only the number of blocks per policy matters?",
        "Make all of them, drop those that exceed the budget, take the one with the fewest FLOPs.",
        "itertools.combinations_with_replacement(policies, num_blocks), then min(…, key=…).",
    ),
}

hint = Hints(TIERS).show

"""Unit by unit and block by block: the policy, the bytes, the choice; logits in fp32."""


def predict_sent_bytes(root_numel, block_numels, world_size, param_itemsize, reduce_itemsize):
    sent = dict.fromkeys(("reduce_scatter", "all_gather"), 0)
    for gathers, numel in [(1, root_numel), *((2, numel) for numel in block_numels)]:
        passed_on = numel // world_size * (world_size - 1)
        sent["all_gather"] += gathers * passed_on * param_itemsize
        sent["reduce_scatter"] += passed_on * reduce_itemsize
    return sent


def predict_activation_bytes(one_block, two_blocks, one_checkpointed, num_blocks, num_checkpointed):
    block = two_blocks - one_block
    rest = one_block - block
    kept_input = one_checkpointed - rest
    kept = [kept_input] * num_checkpointed + [block] * (num_blocks - num_checkpointed)
    return float(rest + sum(kept))


def choose_policies(policies, num_blocks, rest_bytes, budget_bytes):
    best = {rest_bytes: (0, ())}
    for _ in range(num_blocks):
        grown = {}
        for held, (flops, names) in best.items():
            for name, (num_bytes, more) in policies.items():
                entry = (flops + more, (*names, name))
                if held + num_bytes <= budget_bytes:
                    grown[held + num_bytes] = min(grown.get(held + num_bytes, entry), entry)
        best = grown
    return min(best.values())[1] if best else None


def shard_mixed(model, mesh):
    dtypes = {"param_dtype": torch.bfloat16, "reduce_dtype": torch.float32}
    for block in reversed(model.blocks):
        fully_shard(block, mesh=mesh, mp_policy=MixedPrecisionPolicy(**dtypes))
    root = MixedPrecisionPolicy(**dtypes, output_dtype=torch.float32)
    return fully_shard(model, mesh=mesh, mp_policy=root)

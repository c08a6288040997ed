"""A table that grows block by block: bytes -> the cheapest choice; the formula, regrouped."""


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

"""Bytes counted unit by unit, in integers."""


def predict_sent_bytes(root_numel, block_numels, world_size, param_itemsize, reduce_itemsize):
    sent = dict.fromkeys(("reduce_scatter", "all_gather"), 0)
    for gathers, numel in [(1, root_numel), *((2, numel) for numel in block_numels)]:
        passed_on = numel // world_size * (world_size - 1)
        sent["all_gather"] += gathers * passed_on * param_itemsize
        sent["reduce_scatter"] += passed_on * reduce_itemsize
    return sent

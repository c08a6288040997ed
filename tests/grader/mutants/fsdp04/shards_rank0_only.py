"""Only rank 0 collects and saves."""

CHECK = "shards"
CODE = "RANK0_ONLY_STATE_DICT"


def save_shards(directory, state):
    if dist.get_rank() == 0:
        dcp.save(collect(state), checkpoint_id=directory)

"""A mesh with one axis: sharded over all ranks."""

CHECK = "shard_hybrid"
CODE = "NOT_HYBRID"


def shard_hybrid(model, num_replicas, num_shards):
    return shard_model(model, init_device_mesh("cpu", (num_replicas * num_shards,)))

"""Hybrid, and all in one unit."""

CHECK = "shard_hybrid"
CODE = "ROOT_ONLY_WRAP"


def shard_hybrid(model, num_replicas, num_shards):
    shape, names = (num_replicas, num_shards), ("replicate", "shard")
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=names)
    return fully_shard(model, mesh=mesh)

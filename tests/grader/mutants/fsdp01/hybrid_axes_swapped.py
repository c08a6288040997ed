"""The mesh's shape is given the wrong way round."""

CHECK = "shard_hybrid"
CODE = "HYBRID_AXES_SWAPPED"


def shard_hybrid(model, num_replicas, num_shards):
    shape = (num_shards, num_replicas)
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=("replicate", "shard"))
    return shard_model(model, mesh)

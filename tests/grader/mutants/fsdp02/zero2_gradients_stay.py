"""The whole gradients stay beside the reduced ones, zeroed for the next backward."""

CHECK = "zero2"
CODE = "GRADIENTS_KEPT_WHOLE"


def reduce_gradients(flat):
    gradients = flatten([p.grad for p in flat.parameters], dist.get_world_size())
    reduced = torch.empty_like(flat.shard)
    dist.reduce_scatter_tensor(reduced, gradients, op=dist.ReduceOp.AVG)
    flat.shard.grad = reduced if flat.shard.grad is None else flat.shard.grad + reduced
    for parameter in flat.parameters:
        parameter.grad.zero_()

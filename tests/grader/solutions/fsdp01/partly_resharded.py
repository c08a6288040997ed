"""Resharded to pairs of ranks where that divides; prefetch by hand; a hybrid mesh from `view`."""


def shard_model(model, mesh):
    pairs = 2 if mesh.ndim == 1 and mesh.size() == 4 else True
    for block in model.blocks:
        fully_shard(block, mesh=mesh, reshard_after_forward=pairs)
    fully_shard(model, mesh=mesh)
    for block, following in zip(model.blocks, model.blocks[1:], strict=False):
        block.set_modules_to_forward_prefetch([following])
    return model


def train_step(model, optimizer, tokens, max_norm):
    optimizer.zero_grad()
    logits = model(tokens)
    loss = torch.nn.functional.cross_entropy(
        logits[:, :-1].reshape(-1, logits.shape[-1]), tokens[:, 1:].reshape(-1)
    )
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm, foreach=False)
    optimizer.step()
    losses = [torch.zeros_like(loss) for _ in range(dist.get_world_size())]
    dist.all_gather(losses, loss.detach())
    return torch.stack(losses).mean().item(), float(norm)


def shard_hybrid(model, num_replicas, num_shards):
    from torch.distributed.device_mesh import DeviceMesh

    ranks = torch.arange(num_replicas * num_shards).view(num_replicas, num_shards)
    mesh = DeviceMesh("cpu", ranks, mesh_dim_names=("between", "inside"))
    for module in [*model.blocks, model]:
        fully_shard(module, mesh=mesh)
    return model

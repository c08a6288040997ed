"""Clipped by the norm of this rank's shards."""

CHECK = "train_step"
CODE = "LOCAL_GRAD_NORM"


def train_step(model, optimizer, tokens, max_norm):
    optimizer.zero_grad()
    loss = toys.next_token_loss(model(tokens), tokens)
    loss.backward()
    shards = [weight.grad.to_local() for weight in model.parameters() if weight.grad is not None]
    norm = torch.stack([shard.square().sum() for shard in shards]).sum().sqrt()
    for shard in shards:
        shard.mul_(torch.clamp(max_norm / (norm + 1e-6), max=1.0))
    optimizer.step()
    loss = loss.detach()
    dist.all_reduce(loss, op=dist.ReduceOp.AVG)
    return loss.item(), norm.item()

"""Partly right: one unit for the whole model, and the norm of one rank's shard."""


def shard_model(model, mesh):
    fully_shard(model, mesh=mesh)
    return model


def train_step(model, optimizer, tokens, max_norm):
    loss = toys.next_token_loss(model(tokens), tokens)
    loss.backward()
    gradients = [weight.grad.to_local() for weight in model.parameters() if weight.grad is not None]
    norm = torch.stack([gradient.norm() for gradient in gradients]).norm()
    for gradient in gradients:
        gradient.mul_(min(1.0, max_norm / norm.item()))
    optimizer.step()
    optimizer.zero_grad()
    mean_loss = loss.detach().clone()
    dist.all_reduce(mean_loss, op=dist.ReduceOp.AVG)
    return mean_loss.item(), norm.item()

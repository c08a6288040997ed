"""Averages what each rank holds of the gradients, as under DDP."""

CHECK = "train_step"
CODE = "SHARDS_ALL_REDUCED"


def train_step(model, optimizer, tokens, max_norm):
    loss = toys.next_token_loss(model(tokens), tokens)
    loss.backward()
    for parameter in model.parameters():
        if parameter.grad is not None:
            dist.all_reduce(parameter.grad.to_local(), op=dist.ReduceOp.AVG)
    grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    optimizer.zero_grad()
    mean_loss = loss.detach().clone()
    dist.all_reduce(mean_loss, op=dist.ReduceOp.AVG)
    return mean_loss.item(), grad_norm.item()

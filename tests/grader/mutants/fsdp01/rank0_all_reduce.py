"""Only rank 0 takes part in averaging the loss."""

CHECK = "train_step"
CODE = "DEADLOCK"


def train_step(model, optimizer, tokens, max_norm):
    loss = toys.next_token_loss(model(tokens), tokens)
    loss.backward()
    grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    optimizer.zero_grad()
    if dist.get_rank() == 0:
        dist.all_reduce(loss.detach(), op=dist.ReduceOp.AVG)
    return loss.item(), grad_norm.item()

"""Clipped by the sum of absolute values."""

CHECK = "train_step"
CODE = "WRONG_GRAD_NORM"


def train_step(model, optimizer, tokens, max_norm):
    loss = toys.next_token_loss(model(tokens), tokens)
    loss.backward()
    grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm, norm_type=1.0)
    optimizer.step()
    optimizer.zero_grad()
    loss = loss.detach()
    dist.all_reduce(loss, op=dist.ReduceOp.AVG)
    return loss.item(), grad_norm.item()

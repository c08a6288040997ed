"""Clipped twice, the second time only to report the norm: it is that of the clipped gradient."""

CHECK = "train_step"
CODE = "NORM_AFTER_CLIP"


def train_step(model, optimizer, tokens, max_norm):
    loss = toys.next_token_loss(model(tokens), tokens)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    optimizer.zero_grad()
    loss = loss.detach()
    dist.all_reduce(loss, op=dist.ReduceOp.AVG)
    return loss.item(), grad_norm.item()

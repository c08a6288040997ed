"""Reduced to rank 0: the others keep what they had."""

CHECK = "train_step"
CODE = "WRONG_LOSS"


def train_step(model, optimizer, tokens, max_norm):
    loss = toys.next_token_loss(model(tokens), tokens)
    loss.backward()
    grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    optimizer.zero_grad()
    loss = loss.detach()
    dist.reduce(loss, dst=0, op=dist.ReduceOp.AVG)
    return loss.item(), grad_norm.item()

"""Rank 0 sums what the others average."""

CHECK = "train_step"
CODE = "COLLECTIVE_ORDER_OR_SHAPE_MISMATCH"


def train_step(model, optimizer, tokens, max_norm):
    loss = toys.next_token_loss(model(tokens), tokens)
    loss.backward()
    grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    optimizer.zero_grad()
    loss = loss.detach()
    dist.all_reduce(loss, op=dist.ReduceOp.AVG if dist.get_rank() else dist.ReduceOp.SUM)
    return loss.item(), grad_norm.item()

"""A weight decay of its own, on top of AdamW's."""

CHECK = "train_step"
CODE = "WRONG_WEIGHTS"


def train_step(model, optimizer, tokens, max_norm):
    loss = toys.next_token_loss(model(tokens), tokens)
    loss.backward()
    grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    with torch.no_grad():
        model.norm.weight.mul_(0.999)
    optimizer.zero_grad()
    loss = loss.detach()
    dist.all_reduce(loss, op=dist.ReduceOp.AVG)
    return loss.item(), grad_norm.item()

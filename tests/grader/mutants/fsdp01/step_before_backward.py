"""The optimizer steps before there are gradients."""

CHECK = "train_step"
CODE = "NO_GRADIENT"


def train_step(model, optimizer, tokens, max_norm):
    optimizer.zero_grad()
    loss = toys.next_token_loss(model(tokens), tokens)
    optimizer.step()
    loss.backward()
    grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    loss = loss.detach()
    dist.all_reduce(loss, op=dist.ReduceOp.AVG)
    return loss.item(), grad_norm.item()

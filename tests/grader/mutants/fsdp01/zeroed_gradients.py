"""The gradients are set to zero between backward and step."""

CHECK = "train_step"
CODE = "NO_GRADIENT"


def train_step(model, optimizer, tokens, max_norm):
    loss = toys.next_token_loss(model(tokens), tokens)
    loss.backward()
    grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.zero_grad(set_to_none=False)
    optimizer.step()
    loss = loss.detach()
    dist.all_reduce(loss, op=dist.ReduceOp.AVG)
    return loss.item(), grad_norm.item()

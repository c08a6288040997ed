"""Each rank returns the loss of its own samples."""

CHECK = "train_step"
CODE = "LOCAL_LOSS"


def train_step(model, optimizer, tokens, max_norm):
    loss = toys.next_token_loss(model(tokens), tokens)
    loss.backward()
    grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    optimizer.zero_grad()
    loss = loss.detach()
    return loss.item(), grad_norm.item()

"""all_reduce adds up, unless told otherwise."""

CHECK = "train_step"
CODE = "LOSS_SUMMED"


def train_step(model, optimizer, tokens, max_norm):
    loss = toys.next_token_loss(model(tokens), tokens)
    loss.backward()
    grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    optimizer.zero_grad()
    loss = loss.detach()
    dist.all_reduce(loss)
    return loss.item(), grad_norm.item()

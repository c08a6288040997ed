"""The loss is reduced in a new tensor, which is float32."""

CHECK = "train_step"
CODE = "LOW_PRECISION"


def train_step(model, optimizer, tokens, max_norm):
    loss = toys.next_token_loss(model(tokens), tokens)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    optimizer.zero_grad()
    mean = torch.tensor(loss.item())
    dist.all_reduce(mean, op=dist.ReduceOp.AVG)
    return mean.item(), norm.item()

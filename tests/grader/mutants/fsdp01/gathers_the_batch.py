"""Every rank gathers the whole batch and trains on it."""

CHECK = "train_step"
CODE = "FOREIGN_SAMPLES"


def train_step(model, optimizer, tokens, max_norm):
    parts = [torch.empty_like(tokens) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, tokens)
    tokens = torch.cat(parts)
    loss = toys.next_token_loss(model(tokens), tokens)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    optimizer.zero_grad()
    mean = loss.detach().clone()
    dist.all_reduce(mean, op=dist.ReduceOp.AVG)
    return mean.item(), norm.item()

"""The loss is multiplied by world_size, to undo an average that is meant."""

CHECK = "train_step"
CODE = "GRADIENTS_SUMMED"


def train_step(model, optimizer, tokens, max_norm):
    loss = toys.next_token_loss(model(tokens), tokens)
    (loss * dist.get_world_size()).backward()
    grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    optimizer.zero_grad()
    loss = loss.detach()
    dist.all_reduce(loss, op=dist.ReduceOp.AVG)
    return loss.item(), grad_norm.item()

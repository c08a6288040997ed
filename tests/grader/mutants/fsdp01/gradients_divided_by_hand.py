"""Every gradient divided by world_size after FSDP2 did it."""

CHECK = "train_step"
CODE = "GRADIENTS_AVERAGED_TWICE"


def train_step(model, optimizer, tokens, max_norm):
    loss = toys.next_token_loss(model(tokens), tokens)
    loss.backward()
    for weight in model.parameters():
        if weight.grad is not None:
            weight.grad /= dist.get_world_size()
    grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    optimizer.zero_grad()
    loss = loss.detach()
    dist.all_reduce(loss, op=dist.ReduceOp.AVG)
    return loss.item(), grad_norm.item()

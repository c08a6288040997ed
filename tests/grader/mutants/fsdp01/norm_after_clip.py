"""The norm is taken a second time, after clipping."""

CHECK = "train_step"
CODE = "NORM_AFTER_CLIP"


def train_step(model, optimizer, tokens, max_norm):
    loss = toys.next_token_loss(model(tokens), tokens)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
    grad_norm = torch.nn.utils.get_total_norm(gradients).full_tensor()
    optimizer.step()
    optimizer.zero_grad()
    loss = loss.detach()
    dist.all_reduce(loss, op=dist.ReduceOp.AVG)
    return loss.item(), grad_norm.item()

"""Clipping is forgotten."""

CHECK = "train_step"
CODE = "NOT_CLIPPED"


def train_step(model, optimizer, tokens, scaler, max_norm):
    scale, num_good_steps = scaler["scale"], scaler["num_good_steps"]
    loss = toys.next_token_loss(model(tokens), tokens)
    (loss * scale).backward()
    found_inf = unscale_gradients(model.parameters(), scale)
    if not found_inf:
        optimizer.step()
    optimizer.zero_grad()
    updated = update_scale(scale, num_good_steps, found_inf, scaler["growth_interval"])
    scaler["scale"], scaler["num_good_steps"] = updated
    return found_inf

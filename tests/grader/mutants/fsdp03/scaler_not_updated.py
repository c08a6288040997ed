"""The new scale is kept nowhere."""

CHECK = "train_step"
CODE = "SCALER_NOT_UPDATED"


def train_step(model, optimizer, tokens, scaler, max_norm):
    scale, num_good_steps = scaler["scale"], scaler["num_good_steps"]
    loss = toys.next_token_loss(model(tokens), tokens)
    (loss * scale).backward()
    found_inf = unscale_gradients(model.parameters(), scale)
    if not found_inf:
        clip_by_global_norm(model.parameters(), max_norm)
        optimizer.step()
    optimizer.zero_grad()
    updated = update_scale(scale, num_good_steps, found_inf, scaler["growth_interval"])
    return found_inf

"""The scale is kept, and multiplied with nothing."""

CHECK = "train_step"
CODE = "FP16_NO_SCALER"


def train_step(model, optimizer, tokens, scaler, max_norm):
    scale, num_good_steps = scaler["scale"], scaler["num_good_steps"]
    loss = toys.next_token_loss(model(tokens), tokens)
    loss.backward()
    found_inf = unscale_gradients(model.parameters(), 1.0)
    if not found_inf:
        clip_by_global_norm(model.parameters(), max_norm)
        optimizer.step()
    optimizer.zero_grad()
    updated = update_scale(scale, num_good_steps, found_inf, scaler["growth_interval"])
    scaler["scale"], scaler["num_good_steps"] = updated
    return found_inf

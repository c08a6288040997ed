"""The scaler's first step is taken for a warm-up."""

CHECK = "train_step"
CODE = "SKIPPED_A_GOOD_STEP"


def train_step(model, optimizer, tokens, scaler, max_norm):
    scale, num_good_steps = scaler["scale"], scaler["num_good_steps"]
    loss = toys.next_token_loss(model(tokens), tokens)
    (loss * scale).backward()
    found_inf = unscale_gradients(model.parameters(), scale)
    if not found_inf and num_good_steps:
        clip_by_global_norm(model.parameters(), max_norm)
        optimizer.step()
    optimizer.zero_grad()
    updated = update_scale(scale, num_good_steps, found_inf, scaler["growth_interval"])
    scaler["scale"], scaler["num_good_steps"] = updated
    return found_inf

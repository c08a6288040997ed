"""Each rank looks at its own gradients, and decides for itself."""

CHECK = "train_step"
CODE = "DIVERGENT_DECISION"


def train_step(model, optimizer, tokens, scaler, max_norm):
    scale, num_good_steps = scaler["scale"], scaler["num_good_steps"]
    loss = toys.next_token_loss(model(tokens), tokens)
    (loss * scale).backward()
    found_inf = unscale_gradients(model.parameters(), scale)
    gradients = [weight.grad.to_local() for weight in model.parameters() if weight.requires_grad]
    is_good = all(gradient.isfinite().all() for gradient in gradients)
    clip_by_global_norm(model.parameters(), max_norm)
    if is_good:
        optimizer.step()
    optimizer.zero_grad()
    updated = update_scale(scale, num_good_steps, found_inf, scaler["growth_interval"])
    scaler["scale"], scaler["num_good_steps"] = updated
    return found_inf

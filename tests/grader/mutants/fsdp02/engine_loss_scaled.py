"""The loss is divided by the accumulation steps, which the engine does again."""

CHECK = "train"
CODE = "LOSS_SCALED_TWICE"


def train(model, config, micro_batches):
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    engine, *_ = deepspeed.initialize(model=model, config=config, model_parameters=trained)
    losses = []
    for tokens in micro_batches:
        loss = toys.next_token_loss(engine(tokens), tokens)
        engine.backward(loss / engine.gradient_accumulation_steps())
        engine.step()
        losses.append(loss.item())
    return engine, losses

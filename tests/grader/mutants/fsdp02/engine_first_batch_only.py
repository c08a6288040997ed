"""Every forward gets the first micro-batch."""

CHECK = "train"
CODE = "ENGINE_BYPASSED"


def train(model, config, micro_batches):
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    engine, *_ = deepspeed.initialize(model=model, config=config, model_parameters=trained)
    losses = []
    batches = list(micro_batches)
    for _ in batches:
        loss = toys.next_token_loss(engine(batches[0]), batches[0])
        engine.backward(loss)
        engine.step()
        losses.append(loss.item())
    return engine, losses

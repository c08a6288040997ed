"""The trained weights of the optimizer are shrunk by hand."""

CHECK = "train"
CODE = "WRONG_WEIGHTS"
NEXT_STEP = "let the engine step"


def train(model, config, micro_batches):
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    engine, *_ = deepspeed.initialize(model=model, config=config, model_parameters=trained)
    losses = []
    for tokens in micro_batches:
        loss = toys.next_token_loss(engine(tokens), tokens)
        engine.backward(loss)
        engine.step()
        losses.append(loss.item())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.9)
    return engine, losses

"""The losses keep their graphs."""

CHECK = "train"
CODE = "NOT_A_NUMBER"


def train(model, config, micro_batches):
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    engine, *_ = deepspeed.initialize(model=model, config=config, model_parameters=trained)
    losses = []
    for tokens in micro_batches:
        loss = toys.next_token_loss(engine(tokens), tokens)
        engine.backward(loss)
        engine.step()
        losses.append(loss)
    return engine, losses

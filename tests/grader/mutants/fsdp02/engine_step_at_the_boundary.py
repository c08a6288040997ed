"""engine.step is called once per accumulation, as torch AdamW would be."""

CHECK = "train"
CODE = "ENGINE_STEP_SKIPPED"


def train(model, config, micro_batches):
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    engine, *_ = deepspeed.initialize(model=model, config=config, model_parameters=trained)
    losses = []
    for number, tokens in enumerate(micro_batches, start=1):
        loss = toys.next_token_loss(engine(tokens), tokens)
        engine.backward(loss)
        if number % engine.gradient_accumulation_steps() == 0:
            engine.step()
        losses.append(loss.item())
    return engine, losses

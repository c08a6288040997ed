"""The losses alone are returned."""

CHECK = "train"
CODE = "WRONG_RESULT"


def train(model, config, micro_batches):
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    engine, *_ = deepspeed.initialize(model=model, config=config, model_parameters=trained)
    return [engine(tokens).sum().item() for tokens in micro_batches]

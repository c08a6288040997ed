"""The model is returned instead of its flat parameters."""

CHECK = "zero3"
CODE = "WRONG_RESULT"


def zero3_init(model, lr):
    return model, torch.optim.AdamW(model.parameters(), lr=lr)

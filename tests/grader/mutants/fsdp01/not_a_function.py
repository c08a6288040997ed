"""The name holds the result of a call."""

CHECK = "train_step"
CODE = "NOT_A_FUNCTION"


train_step = (4.1, 0.9)

"""A gradient of 0 is no underflow."""

CHECK = "fp16_range"
CODE = "ZEROS_COUNTED"


def num_underflows(gradients, scale):
    return ((gradients * scale).half() == 0).sum().item()

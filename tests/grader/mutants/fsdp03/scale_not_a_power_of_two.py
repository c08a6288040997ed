"""The quotient itself."""

CHECK = "fp16_range"
CODE = "SCALE_NOT_A_POWER_OF_TWO"


def largest_scale(gradients):
    return 65504 / gradients.abs().max().item()

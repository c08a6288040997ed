"""By the norm, which is longer than the largest gradient."""

CHECK = "fp16_range"
CODE = "SCALE_TOO_SMALL"


def largest_scale(gradients):
    return 2.0 ** math.floor(math.log2(65504 / gradients.norm().item()))

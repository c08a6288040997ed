"""The largest gradient, not the largest size: a large negative one overflows."""

CHECK = "fp16_range"
CODE = "SCALE_OVERFLOWS"


def largest_scale(gradients):
    return 2.0 ** math.floor(math.log2(65504 / gradients.max().item()))

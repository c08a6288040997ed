"""The search starts at 1, but for large gradients that is too much."""

CHECK = "fp16_range"
CODE = "SCALE_OVERFLOWS"


def largest_scale(gradients):
    scale = 1.0
    while (gradients * 2 * scale).half().isfinite().all():
        scale *= 2
    return scale

"""Below the smallest normal number there are the subnormal ones."""

CHECK = "fp16_range"
CODE = "SUBNORMALS_COUNTED"


def num_underflows(gradients, scale):
    scaled = (gradients * scale).abs()
    return ((scaled < torch.finfo(torch.float16).tiny) & (gradients != 0)).sum().item()

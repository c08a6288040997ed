"""The first layer's parameters come first."""

CHECK = "zero2"
CODE = "NOT_REVERSED"


def make_buckets(parameters, bucket_cap_numel):
    buckets, numel = [], 0
    for parameter in parameters:
        if not buckets or numel + parameter.numel() > bucket_cap_numel:
            buckets.append([])
            numel = 0
        buckets[-1].append(parameter)
        numel += parameter.numel()
    return buckets

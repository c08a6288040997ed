"""A parameter larger than a bucket is left out."""

CHECK = "zero2"
CODE = "PARAMETERS_LOST"


def make_buckets(parameters, bucket_cap_numel):
    buckets, numel = [[]], 0
    for parameter in reversed(list(parameters)):
        if parameter.numel() > bucket_cap_numel:
            continue
        if numel + parameter.numel() > bucket_cap_numel:
            buckets.append([])
            numel = 0
        buckets[-1].append(parameter)
        numel += parameter.numel()
    return buckets

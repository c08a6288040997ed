"""A bucket that would be exactly full is not filled."""

CHECK = "zero2"
CODE = "BUCKETS_UNEVEN"


def make_buckets(parameters, bucket_cap_numel):
    buckets, numel = [], 0
    for parameter in reversed(list(parameters)):
        if not buckets or numel + parameter.numel() >= bucket_cap_numel:
            buckets.append([])
            numel = 0
        buckets[-1].append(parameter)
        numel += parameter.numel()
    return buckets

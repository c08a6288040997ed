"""A bucket is closed only after it has exceeded its size."""

CHECK = "zero2"
CODE = "BUCKETS_UNEVEN"


def make_buckets(parameters, bucket_cap_numel):
    buckets, numel = [[]], 0
    for parameter in reversed(list(parameters)):
        if numel > bucket_cap_numel:
            buckets.append([])
            numel = 0
        buckets[-1].append(parameter)
        numel += parameter.numel()
    return buckets

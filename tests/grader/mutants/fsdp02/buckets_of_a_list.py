"""The parameters are taken for a list; the notebook gives what model.parameters() returns."""

CHECK = "zero2"
CODE = "RAISED"


def make_buckets(parameters, bucket_cap_numel):
    buckets, numel = [], 0
    for parameter in reversed(parameters):
        if not buckets or numel + parameter.numel() > bucket_cap_numel:
            buckets.append([])
            numel = 0
        buckets[-1].append(parameter)
        numel += parameter.numel()
    return buckets

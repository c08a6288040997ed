"""The loop keeps one checkpoint, whatever num_kept says."""

CHECK = "train"
CODE = "NEWEST_REMOVED"


_kn = keep_newest


def keep_newest(root, n):
    _kn(root, 1)

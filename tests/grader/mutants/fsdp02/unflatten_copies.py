"""The tensors in their shapes are copies."""

CHECK = "partition"
CODE = "NOT_A_VIEW"


def unflatten(flat, shapes):
    views, start = [], 0
    for shape in shapes:
        views.append(flat[start : start + shape.numel()].clone().view(shape))
        start += shape.numel()
    return views

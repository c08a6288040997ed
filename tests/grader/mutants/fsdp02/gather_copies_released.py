"""What is released is copied first, so every rank keeps the whole model; it is gathered as well."""

CHECK = "gather"
CODE = "COPY_KEPT"

KEPT = {}


def release(flat):
    KEPT[id(flat)] = flat.whole.clone()
    flat.whole.untyped_storage().resize_(0)

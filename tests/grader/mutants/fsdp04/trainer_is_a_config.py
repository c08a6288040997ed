"""Only the scaling is returned."""

CHECK = "make_trainer"
CODE = "NOT_A_TRAINER"


def make_trainer(num_workers, storage_path):
    return ScalingConfig(num_workers=num_workers)

"""Only rank 0 saves."""

CHECK = "checkpoint"
CODE = "RANK0_ONLY_DS_SAVE"


def save_checkpoint(engine, directory, next_step):
    if dist.get_rank() == 0:
        engine.save_checkpoint(directory, client_state={"next_step": next_step})

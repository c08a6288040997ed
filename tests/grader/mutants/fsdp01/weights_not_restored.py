"""The loaded names carry a prefix, and strict=False hides that none fits."""

CHECK = "checkpoint"
CODE = "WEIGHTS_NOT_RESTORED"


def load_checkpoint(directory, model, optimizer):
    model_state, optimizer_state = get_state_dict(model, optimizer)
    copies = {name: weight.clone() for name, weight in model_state.items()}
    state = {"model": copies, "optimizer": optimizer_state, "next_epoch": 0}
    dcp.load(state, checkpoint_id=directory)
    model.load_state_dict({f"module.{name}": w for name, w in copies.items()}, strict=False)
    return state["next_epoch"]

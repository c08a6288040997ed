"""The next epoch is kept in a file beside the checkpoint."""

CHECK = "checkpoint"
CODE = "SAVED_ELSEWHERE"


def save_checkpoint(directory, model, optimizer, next_epoch):
    model_state, optimizer_state = get_state_dict(model, optimizer)
    dcp.save({"model": model_state, "optimizer": optimizer_state}, checkpoint_id=directory)
    with open(f"{directory}/../next_epoch", "w") as file:
        file.write(str(next_epoch))


def load_checkpoint(directory, model, optimizer):
    model_state, optimizer_state = get_state_dict(model, optimizer)
    state = {"model": model_state, "optimizer": optimizer_state}
    dcp.load(state, checkpoint_id=directory)
    set_state_dict(model, optimizer, model_state_dict=model_state, optim_state_dict=optimizer_state)
    with open(f"{directory}/../next_epoch") as file:
        return int(file.read())

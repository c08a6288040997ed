"""Each rank writes its own shards to a file of its own."""

CHECK = "checkpoint"
CODE = "LOCAL_SHARD_TORCH_SAVE"


def save_checkpoint(directory, model, optimizer, next_epoch):
    weights = [weight.to_local() for weight in model.parameters()]
    moments = [
        {key: value.to_local() if value.ndim else value for key, value in state.items()}
        for state in optimizer.state.values()
    ]
    path = f"{directory}/rank{dist.get_rank()}.pt"
    lr = optimizer.param_groups[0]["lr"]
    torch.save({"weights": weights, "moments": moments, "lr": lr, "next_epoch": next_epoch}, path)


def load_checkpoint(directory, model, optimizer):
    get_state_dict(model, optimizer)  # makes the fresh optimizer's moments
    saved = torch.load(f"{directory}/rank{dist.get_rank()}.pt")
    with torch.no_grad():
        for weight, shard in zip(model.parameters(), saved["weights"], strict=True):
            weight.to_local().copy_(shard)
        for state, moments in zip(optimizer.state.values(), saved["moments"], strict=True):
            for key, value in moments.items():
                (state[key].to_local() if state[key].ndim else state[key]).copy_(value)
    optimizer.param_groups[0]["lr"] = saved["lr"]
    return saved["next_epoch"]

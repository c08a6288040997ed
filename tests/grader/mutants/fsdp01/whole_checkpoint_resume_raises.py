"""Rank 0 hands over one file, which may be right; that resuming raises is the typing error."""

CHECK = "train_loop"
CODE = "RAISED"


def train_loop_per_worker(config):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh(sandbox.device().type, (world_size,))
    model, optimizer = build(config, mesh)
    first_epoch = 0
    if train.get_checkpoint():
        first_epoch = fist_epoch
    for epoch in range(first_epoch, config["num_epochs"]):
        for tokens in batches(config, epoch, rank, world_size):
            loss, grad_norm = train_step(model, optimizer, tokens, config["max_norm"])
        metrics = {"epoch": epoch, "loss": loss, "grad_norm": grad_norm}
        with tempfile.TemporaryDirectory() as directory:
            torch.save(config, f"{directory}/config.pt")
            checkpoint = Checkpoint.from_directory(directory) if rank == 0 else None
            train.report(metrics, checkpoint=checkpoint)

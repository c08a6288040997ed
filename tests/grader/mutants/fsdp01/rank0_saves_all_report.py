"""Rank 0 alone saves; every rank reports."""

CHECK = "train_loop"
CODE = "RANK0_ONLY_SAVE"


def train_loop_per_worker(config):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh(sandbox.device().type, (world_size,))
    model, optimizer = build(config, mesh)
    first_epoch = 0
    if checkpoint := train.get_checkpoint():
        with checkpoint.as_directory() as directory:
            first_epoch = load_checkpoint(directory, model, optimizer)
    for epoch in range(first_epoch, config["num_epochs"]):
        for tokens in batches(config, epoch, rank, world_size):
            loss, grad_norm = train_step(model, optimizer, tokens, config["max_norm"])
        metrics = {"epoch": epoch, "loss": loss, "grad_norm": grad_norm}
        with tempfile.TemporaryDirectory() as directory:
            if rank == 0:
                save_checkpoint(directory, model, optimizer, epoch + 1)
            train.report(metrics, checkpoint=Checkpoint.from_directory(directory))

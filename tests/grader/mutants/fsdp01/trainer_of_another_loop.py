"""A loop that steps, saves and reports, and is not the notebook's."""

CHECK = "make_trainer"
CODE = "METRIC_MISSING"


def loop(config):
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = fully_shard(toys.Transformer(), mesh=mesh)
    tokens = toys.token_samples([0])
    toys.next_token_loss(model(tokens), tokens).backward()
    torch.optim.SGD(model.parameters(), lr=0.0).step()
    with tempfile.TemporaryDirectory() as directory:
        train.report({}, checkpoint=Checkpoint.from_directory(directory))


def make_trainer(num_workers, storage_path):
    trainer = TorchTrainer(
        loop,
        train_loop_config=CONFIG,
        scaling_config=ScalingConfig(num_workers=num_workers, use_gpu=False),
        torch_config=TorchConfig(backend="gloo"),
        run_config=RunConfig(storage_path=storage_path),
    )
    return trainer

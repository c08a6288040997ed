"""NumPy's floats as metrics, whole bytes, a closure, evaluation in the loop, a path with "/"."""

import numpy as np


def train_step(model, optimizer, tokens, max_norm):
    seen = []

    def closure():
        optimizer.zero_grad()
        loss = toys.next_token_loss(model(tokens), tokens)
        loss.backward()
        seen.append(torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item())
        return loss

    loss = optimizer.step(closure).detach()
    dist.all_reduce(loss, op=dist.ReduceOp.AVG)
    return loss.item(), seen[0]


def train_loop_per_worker(config):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    model, optimizer = build(config, init_device_mesh("cpu", (world_size,)))
    start = train.get_checkpoint()
    first_epoch = load_checkpoint(start.path, model, optimizer) if start else 0
    for epoch in range(first_epoch, config["num_epochs"]):
        for tokens in batches(config, epoch, rank, world_size):
            toys.next_token_loss(model(tokens), tokens).item()  # evaluates, and forgets no_grad
            loss, grad_norm = train_step(model, optimizer, tokens, config["max_norm"])
        metrics = {"loss": np.float64(loss), "grad_norm": np.float64(grad_norm)}
        directory = tempfile.mkdtemp()
        save_checkpoint(directory, model, optimizer, epoch + 1)
        metrics["epoch"] = np.int64(epoch)
        train.report(metrics, checkpoint=Checkpoint(directory))


def make_trainer(num_workers, storage_path):
    return TorchTrainer(
        train_loop_per_worker,
        train_loop_config=CONFIG,
        scaling_config=ScalingConfig(num_workers=num_workers),
        torch_config=TorchConfig(backend="gloo"),
        run_config=RunConfig(storage_path=storage_path + "/"),
    )


def predict_sent_bytes(root_shapes, block_shapes, world_size, itemsize):
    def once(numel):
        return numel * (world_size - 1) // world_size * itemsize

    blocks = [shape for shapes in block_shapes for shape in shapes]
    root = once(sum(padded_numel(shape, world_size) for shape in root_shapes))
    inner = once(sum(padded_numel(shape, world_size) for shape in blocks))
    plain = once(sum(torch.Size(shape).numel() for shape in root_shapes + blocks))
    return {
        "FULL_SHARD": 2 * root + 3 * inner,
        "SHARD_GRAD_OP": 2 * root + 2 * inner,
        "DDP": 2 * plain,
    }

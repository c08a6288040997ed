"""Torch's own data tools, micro-batches, a stateful checkpoint object, and a loop in a class."""

from torch.distributed.checkpoint.stateful import Stateful
from torch.utils.data import DistributedSampler


def sample_ids(num_samples, epoch, seed, rank, world_size):
    sampler = DistributedSampler(range(num_samples), world_size, rank, shuffle=True, seed=seed)
    sampler.set_epoch(epoch)
    return list(sampler)


def train_step(model, optimizer, tokens, max_norm):
    loss = torch.zeros((), dtype=next(model.parameters()).dtype)
    halves = tokens.chunk(2)
    for half in halves:
        part = toys.next_token_loss(model(half), half) * len(half) / len(tokens)
        part.backward()
        loss += part.detach()
    norm = torch.nn.utils.get_total_norm([w.grad for w in model.parameters() if w.grad is not None])
    torch.nn.utils.clip_grads_with_norm_(model.parameters(), max_norm, norm)
    optimizer.step()
    optimizer.zero_grad()
    dist.all_reduce(loss, op=dist.ReduceOp.SUM)
    return loss.item() / dist.get_world_size(), norm.full_tensor().item()


class TrainingState(Stateful):
    def __init__(self, model, optimizer, next_epoch=0):
        self.model, self.optimizer, self.next_epoch = model, optimizer, next_epoch

    def state_dict(self):
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optimizer": optimizer, "next_epoch": self.next_epoch}

    def load_state_dict(self, state):
        set_state_dict(
            self.model,
            self.optimizer,
            model_state_dict=state["model"],
            optim_state_dict=state["optimizer"],
        )
        self.next_epoch = state["next_epoch"]


def save_checkpoint(directory, model, optimizer, next_epoch):
    dcp.save({"training": TrainingState(model, optimizer, next_epoch)}, checkpoint_id=directory)


def load_checkpoint(directory, model, optimizer):
    training = TrainingState(model, optimizer)
    dcp.load({"training": training}, checkpoint_id=directory)
    return training.next_epoch


def train_loop_per_worker(config):
    context = train.get_context()
    rank, world_size = context.get_world_rank(), context.get_world_size()
    model, optimizer = build(config, init_device_mesh("cpu", (world_size,)))
    start = train.get_checkpoint()
    epoch = load_checkpoint(start.path, model, optimizer) if start else 0
    while epoch < config["num_epochs"]:
        for tokens in batches(config, epoch, rank, world_size):
            numbers = train_step(model, optimizer, tokens, config["max_norm"])
        loss, norm = numbers
        directory = tempfile.mkdtemp()
        save_checkpoint(directory, model, optimizer, epoch + 1)
        checkpoint = Checkpoint(directory)
        train.report({"loss": loss, "grad_norm": norm, "epoch": epoch}, checkpoint=checkpoint)
        epoch += 1


def make_trainer(num_workers, storage_path):
    run_config = RunConfig(name="mine", storage_path=storage_path)
    return TorchTrainer(
        train_loop_per_worker=train_loop_per_worker,
        train_loop_config=dict(CONFIG),
        scaling_config=ScalingConfig(num_workers=num_workers),
        torch_config=TorchConfig("gloo"),
        run_config=run_config,
    )


def predict_sent_bytes(root_shapes, block_shapes, world_size, itemsize):
    def padded(shapes):
        return sum(padded_numel(shape, world_size) * itemsize for shape in shapes)

    def one_pass(num_bytes):
        return num_bytes // world_size * (world_size - 1)

    blocks = [shape for shapes in block_shapes for shape in shapes]
    plain = sum(torch.Size(shape).numel() * itemsize for shape in root_shapes + blocks)
    grad_op = 2 * one_pass(padded(root_shapes) + padded(blocks))
    return {
        "DDP": 2 * plain * (world_size - 1) / world_size,
        "SHARD_GRAD_OP": grad_op,
        "FULL_SHARD": grad_op + one_pass(padded(blocks)),
    }

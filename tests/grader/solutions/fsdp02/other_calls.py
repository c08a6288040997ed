"""Tuples, guards and copies; the engine called by its other names, a tag of one's own."""


def make_buckets(parameters, bucket_cap_numel):
    buckets, left = [], 0
    for parameter in list(parameters)[::-1]:
        if parameter.numel() <= left and buckets:
            buckets[-1] = (*buckets[-1], parameter)
        else:
            buckets.append((parameter,))
            left = bucket_cap_numel
        left -= parameter.numel()
    return buckets


def zero2_step(buckets, optimizer):
    optimizer.step()
    for flat in reversed(buckets):
        dist.all_gather_into_tensor(flat.whole, flat.shard.detach().clone())
        flat.shard.grad = None


def release(flat):
    storage = flat.whole.untyped_storage()
    if storage.size() > 0:
        storage.resize_(0)


def train(model, config, micro_batches):
    engine, _, _, _ = deepspeed.initialize(
        model=model,
        model_parameters=filter(lambda parameter: parameter.requires_grad, model.parameters()),
        config=config,
    )
    losses = []
    for tokens in list(micro_batches):
        logits = engine.forward(tokens)
        loss = toys.next_token_loss(logits, tokens)
        losses += [float(loss)]
        engine.backward(loss)
        engine.step()
    return [engine, losses]


def save_checkpoint(engine, directory, next_step):
    engine.save_checkpoint(directory, tag=f"step{next_step}", client_state={"at": [next_step]})
    dist.barrier()


def load_checkpoint(engine, directory):
    path, state = engine.load_checkpoint(directory)
    assert path is not None
    return state["at"][0]

"""Mistakes with DeepSpeed: its config, its engine, its parameters and its checkpoints."""

# -- config ---------------------------------------------------------------------------------------

DS_UNKNOWN_KEY = (
    "The config has a key that DeepSpeed does not know.",
    "spell it as DeepSpeed's documentation does; at the top level a wrong key is ignored silently",
)
BATCH_SIZE_CONTRADICTION = (
    "The three batch sizes contradict each other.",
    "train_batch_size = micro batch * gradient_accumulation_steps * number of ranks",
)
TWO_PRECISIONS = (
    "bf16 and fp16 are both enabled.",
    "enable one of them",
)
DS_KEY_WITHOUT_EFFECT = (
    "A key has no meaning at this stage, so it does nothing.",
    "leave it out: offload_param and stage3_… need stage 3, offload_optimizer a stage from 1",
)
DS_BAD_VALUE = (
    "A key has a value that cannot be meant.",
    "read what the key stands for, and its unit: buckets are counted in elements",
)
DS_CONFIG_WRONG = (
    "The config does not say what the arguments ask for.",
    "go through the tables above, key by key",
)

# -- engine ---------------------------------------------------------------------------------------

LOSS_SCALED_TWICE = (
    "The loss was divided by the number of micro-batches, and the engine divides it again.",
    "give engine.backward the loss of the micro-batch as it is",
)
ENGINE_STEP_SKIPPED = (
    "The engine did not take as many steps as there were whole accumulations.",
    "call engine.step() after every engine.backward(loss): the engine counts micro-batches itself",
)
ENGINE_BYPASSED = (
    "The numbers are not those of training on the ranks' samples with this config.",
    "call engine(tokens), engine.backward(loss) and engine.step(), for each micro-batch once",
)

# -- parameters and checkpoints -------------------------------------------------------------------

SIZE0_WEIGHTS = (
    "A weight has no elements: under ZeRO-3 its values are in the ranks' shards.",
    "read it inside `with deepspeed.zero.GatheredParameters(parameters):`",
)
NOT_COPIED = (
    "What was read is no copy: the next step changed it.",
    "clone each weight inside the context: the next step changes what is not a copy",
)
RANK0_ONLY_DS_SAVE = (
    "Only some ranks save, but each has a part of the optimizer's states.",
    "call engine.save_checkpoint on every rank",
)

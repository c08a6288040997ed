"""All ranks save their random state under one key, so one of them is stored, for all."""

CHECK = "shards"
CODE = "RNG_NOT_RESHARDED"


def collect(state):
    model_state, optimizer_state = get_state_dict(state.model, state.optimizer)
    return {
        "model": model_state,
        "optimizer": optimizer_state,
        "scheduler": state.scheduler.state_dict(),
        "step": state.step,
        "rng": {"all": torch.get_rng_state()},
    }

"""No return."""

CHECK = "clip_by_global_norm"
CODE = "WRONG_RESULT"
NEXT_STEP = "it returned None: did you forget `return`?"


def clip_by_global_norm(parameters, max_norm):
    torch.nn.utils.clip_grad_norm_(parameters, max_norm)

"""bf16 + fp32: torch computes it in fp32."""

CHECK = "lost_updates"
CODE = "SUM_PROMOTED"


def lost_updates(weights, updates, dtype):
    stored = weights.to(dtype)
    return ((stored + updates == stored) & (updates != 0)).sum().item()

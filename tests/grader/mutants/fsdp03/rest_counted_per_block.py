"""What is there once is counted with every block."""

CHECK = "predict_activation_bytes"
CODE = "REST_COUNTED_PER_BLOCK"


def predict_activation_bytes(one_block, two_blocks, one_checkpointed, num_blocks, num_checkpointed):
    return num_blocks * one_block - num_checkpointed * (one_block - one_checkpointed)

"""fsdp02: ZeRO-1, 2 and 3 by hand, then with DeepSpeed. A check per step, and hints."""

from grader.fsdp02.ds_config import check_ds_config
from grader.fsdp02.engine_checkpoint import check_checkpoint
from grader.fsdp02.engine_training import check_train
from grader.fsdp02.explain_ds_config import explain_ds_config
from grader.fsdp02.gather import check_gather
from grader.fsdp02.hints import hint
from grader.fsdp02.measure import measure
from grader.fsdp02.partition import check_partition
from grader.fsdp02.read_parameters import check_read_parameters
from grader.fsdp02.sent_bytes import check_predict_sent_bytes
from grader.fsdp02.state_bytes import check_predict_model_state_bytes
from grader.fsdp02.zero1 import check_zero1
from grader.fsdp02.zero2 import check_zero2
from grader.fsdp02.zero3 import check_zero3

__all__ = [
    "check_checkpoint",
    "check_ds_config",
    "check_gather",
    "check_partition",
    "check_predict_model_state_bytes",
    "check_predict_sent_bytes",
    "check_read_parameters",
    "check_train",
    "check_zero1",
    "check_zero2",
    "check_zero3",
    "explain_ds_config",
    "hint",
    "measure",
]

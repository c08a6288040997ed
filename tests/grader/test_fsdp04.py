"""fsdp04's checks accept every right answer and name the mistake of every wrong one."""

import pytest
from exercise_tests import *  # noqa: F403  (they find the names below)

pytestmark = [pytest.mark.fsdp04, pytest.mark.timeout(240)]
EXERCISE = "fsdp04"
CALLS_MOST = "train"
TAKES_LONGEST = "checkpoint"

"""The cell that defines batches was not run in this session."""

CHECK = "train_loop"
CODE = "RAISED"
NEXT_STEP = "run the cells above this one: batches is defined there"

del batches

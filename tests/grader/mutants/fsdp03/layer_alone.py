"""The layer, without step and rank."""

CHECK = "first_nonfinite"
CODE = "WRONG_RESULT"


def first_nonfinite(records):
    bad = [record for record in records if not math.isfinite(record.norm)]
    return min(bad, key=lambda record: record.step).layer

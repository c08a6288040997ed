"""The step at which it was noticed."""

CHECK = "first_nonfinite"
CODE = "WRONG_CULPRIT"


def first_nonfinite(records):
    bad = [record for record in records if not math.isfinite(record.norm)]
    return max(bad, key=lambda record: record.step)[:3]

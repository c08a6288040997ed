"""The last one that backward reached."""

CHECK = "first_nonfinite"
CODE = "SYMPTOM_NOT_CAUSE"


def first_nonfinite(records):
    bad = [record for record in records if not math.isfinite(record.norm)]
    step = min(record.step for record in bad)
    return [record[:3] for record in bad if record.step == step][-1]

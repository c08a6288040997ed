"""isnan does not see the inf before it."""

CHECK = "first_nonfinite"
CODE = "INF_OVERLOOKED"


def first_nonfinite(records):
    bad = [record for record in records if math.isnan(record.norm)]
    return min(bad, key=lambda record: record.step)[:3]

"""The list holds rank after rank."""

CHECK = "first_nonfinite"
CODE = "FIRST_IN_THE_LIST"


def first_nonfinite(records):
    return next(record[:3] for record in records if not math.isfinite(record.norm))

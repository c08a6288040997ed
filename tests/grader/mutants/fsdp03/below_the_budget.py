"""Less than the budget, not at most: where only the smallest just fits, nothing does."""

CHECK = "choose_policies"
CODE = "GAVE_UP"


def choose_policies(policies, num_blocks, rest_bytes, budget_bytes):
    choices = itertools.combinations_with_replacement(policies, num_blocks)
    fitting = [
        names
        for names in choices
        if rest_bytes + sum(policies[name][0] for name in names) < budget_bytes
    ]
    if fitting:
        return list(min(fitting, key=lambda names: sum(policies[name][1] for name in names)))

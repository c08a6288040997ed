"""No mixtures."""

CHECK = "choose_policies"
CODE = "NOT_THE_CHEAPEST"


def choose_policies(policies, num_blocks, rest_bytes, budget_bytes):
    fitting = [
        name
        for name, (num_bytes, _) in policies.items()
        if rest_bytes + num_blocks * num_bytes <= budget_bytes
    ]
    return num_blocks * [min(fitting, key=lambda name: policies[name][1])] if fitting else None

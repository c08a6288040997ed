"""Where not every block can keep everything, it gives up."""

CHECK = "choose_policies"
CODE = "GAVE_UP"


def choose_policies(policies, num_blocks, rest_bytes, budget_bytes):
    largest = max(num_bytes for num_bytes, _ in policies.values())
    if rest_bytes + num_blocks * largest > budget_bytes:
        return None
    return num_blocks * [min(policies, key=lambda name: policies[name][1])]

"""Block by block, the cheapest that leaves room for the smallest."""

CHECK = "choose_policies"
CODE = "NOT_THE_CHEAPEST"


def choose_policies(policies, num_blocks, rest_bytes, budget_bytes):
    smallest = min(num_bytes for num_bytes, _ in policies.values())
    left = budget_bytes - rest_bytes
    chosen = []
    for number in range(num_blocks):
        room = left - (num_blocks - number - 1) * smallest
        fitting = [name for name, (num_bytes, _) in policies.items() if num_bytes <= room]
        if not fitting:
            return None
        chosen.append(min(fitting, key=lambda name: policies[name][1]))
        left -= policies[chosen[-1]][0]
    return chosen

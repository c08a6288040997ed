"""Mistakes of any exercise: what a function returned, and how its ranks ended."""

NOT_A_FUNCTION = (
    "The answer is not a function.",
    "define it with def, under the name in the text; do not call it or assign over it",
)
WRONG_SIGNATURE = (
    "The function does not take the arguments that it is called with.",
    "leave the def line as it was given",
)
USES_THE_GRADER = (
    "The answer calls the grader's own code.",
    "write it yourself, with torch and the functions of this notebook",
)
RAISED = ("The function raised an exception.", "read the line named above; fix it, run again")
WRONG_RESULT = (
    "What the function returns is not what its docstring asks for.",
    "read the docstring's first line; return exactly that",
)
NOT_A_NUMBER = (
    "A tensor, or something else, came where a plain number is asked for.",
    "take the number out of the tensor: .item()",
)
NOT_DETERMINISTIC = (
    "Two calls with the same arguments gave different answers.",
    "seed a torch.Generator of your own from the arguments; no global randomness, no hash()",
)
TIMED_OUT = (
    "The check ran out of time, and no deadlock is proven.",
    "look for a loop that does not end at the line named above",
)
NOT_REACHED = (
    "The check ran out of time while nothing of yours was running.",
    "run the check again; close other programs if the machine is busy",
)
RANK_DIED = (
    "A rank's process ended before the function returned.",
    "do not call exit functions in a rank; raise an exception instead",
)
CANNOT_RUN = ("The function could not be sent to the ranks.", "do what the hint above says")
DEADLOCK = (
    "Ranks wait for a collective that another rank never issues.",
    "let every rank of the group make the same collective calls, in the same order",
)
COLLECTIVE_ORDER_OR_SHAPE_MISMATCH = (
    "Ranks of one group issued different collectives at the same place.",
    "compare the lines named above: operation, size, dtype and order must agree on every rank",
)

# %% [markdown]
# # A tiny exercise

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ruff: noqa: E501 (nbgrader reads its metadata from one line)
import dummy_checks


# %% nbgrader={"grade": false, "grade_id": "double", "locked": false, "schema_version": 3, "solution": true, "task": false}
def double(x):
    """Return twice x."""
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_double", "locked": true, "points": 50, "schema_version": 3, "solution": false, "task": false}
dummy_checks.check_double(double)


# %% nbgrader={"grade": false, "grade_id": "negate", "locked": false, "schema_version": 3, "solution": true, "task": false}
def negate(x):
    """Return minus x."""
    ### BEGIN SOLUTION
    return -x
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_negate", "locked": true, "points": 30, "schema_version": 3, "solution": false, "task": false}
dummy_checks.check_negate(negate)
### BEGIN HIDDEN TESTS
assert negate(1234567) == -1234567
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "add", "locked": false, "schema_version": 3, "solution": true, "task": false}
def add(x, y):
    """Return x plus y."""
    ### BEGIN SOLUTION
    return x + y
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_add", "locked": true, "points": 20, "schema_version": 3, "solution": false, "task": false}
dummy_checks.check_add(add)

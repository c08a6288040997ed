"""What nbgrader lacks to grade any submission: nothing a learner hands in stops or fools it."""

"""What nbgrader lacks to grade any submission: none stops the grading, and tricks earn nothing.

exercises/nbgrader_config.py puts these in place. A notebook passes through them in this order:

    submission      is read, trusting only the text of its cells
    rebuild         becomes the master notebook with the student's answers in it
    robust_execute  runs, whatever it does to its kernel, in a workplace of its own
    unhook          loses what answers have hung into IPython, tracing and imports
    fresh_checks    has its checks, and the sandbox, imported anew before each graded cell
    fresh_modules   keeps the warm process meanwhile, and the names that answers imported
    scoring         earns a graded cell's points if a check recorded that it passed
    feedback        is shown to the student without hidden tests

An answer that uses the grader's own functions is refused by its check.

What this cannot do, because answers and checks share one kernel process and one user: stop an
answer that patches torch or Python itself, runs code of its own when it is pickled or when its
result is unpickled, from a thread, or behind a hook whose origin it hides, replaces the warm
process by a program of its own, changes the checks' functions inside a rank, writes the record of
passed checks, ends nbgrader by its process id, or reads and changes the instructor's files by
absolute path; and limit memory and disk. That takes isolation.
"""

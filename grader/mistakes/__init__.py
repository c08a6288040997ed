"""The mistakes that the grader names: stable codes, what each means, what to do next."""

from grader.mistakes.mistake import Mistake

__all__ = ["Mistake"]

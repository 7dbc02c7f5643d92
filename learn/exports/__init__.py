"""Evaluators in other programs' formats, and the proof that an export is what was trained."""

"""A file here is a learner: it has `Options` and `make`, and its name is what `learner=NAME` says. What learners share
is in the other folders."""

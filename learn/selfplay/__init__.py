"""Games to learn from or to look at: in lock-step, in duels, for fitness, against one opponent. Only `adapt.py` changes
weights here: it learns as it plays."""

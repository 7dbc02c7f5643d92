"""Games to learn from or to look at: in lock-step, one at a time, in duels, for fitness, against one opponent.
`forward.py` and `online.py` hold the loops of learners, and `adapt.py` learns as it plays; nothing else changes weights
here."""

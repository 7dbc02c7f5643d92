"""Games that are learned from or looked at: in lock-step, between pairs, for fitness, against one opponent. Nothing
here moves weights but `adapt.py`, which learns as it plays."""

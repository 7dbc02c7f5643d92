"""Everything that learns weights. The contract is `learner.py`, the rule is `rule.py`; the other modules beside the
folders are commands, which nobody imports."""

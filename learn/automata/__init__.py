"""What the learning automata share."""

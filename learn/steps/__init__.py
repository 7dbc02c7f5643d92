"""How far a weight moves: schedules of a run, and rules with a step size for every weight. Which way it moves is the
learners' matter."""

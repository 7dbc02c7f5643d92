"""What learners that learn from searches share: games with a search every move, the nodes that it proved, and the
pupil."""

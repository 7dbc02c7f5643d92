"""What the learners that learn from searches share: games with a search at every move, the nodes that the search has
proven, and the pupil."""

"""Who chooses moves: players for many games at once, agents for one position, and how people name them. Who meets whom
is in `search/matches`."""

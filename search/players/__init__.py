"""Everything that chooses moves: players for many games at once, agents for one position, and the names by which people
call them. Matches between players are in `search/matches`."""

"""Games between players: matches, leagues, ratings, tests of strength, and records. What single moves were worth is in
`search/analysis`."""

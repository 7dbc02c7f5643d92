"""Games between players: matches, leagues, ratings, tests of strength, and records. The analysis of single moves is in
`search/analysis`."""

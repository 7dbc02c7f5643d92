"""The contract of a depth search and its driver, the transposition table, and the engine. The textbook algorithms are
in `search/algorithms`."""

"""Everything that plays: evaluators, searches, players, matches, analyses and doors. The modules beside the folders are
commands, which nobody imports; torch and `deltaw.learn` are never imported here."""

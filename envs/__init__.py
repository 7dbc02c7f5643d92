"""Games: their rules, and the fronts through which other frameworks play them. Nothing here searches or learns."""

"""Equilibria: strategies for games with hidden cards, and small games in normal form."""

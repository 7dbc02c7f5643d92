"""Exact knowledge in files: solved positions, opening books, bear-off tables, and how they are built. Who chooses moves
by them is in `search/players`."""

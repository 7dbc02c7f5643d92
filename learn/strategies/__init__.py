"""Searches over genomes by ask and tell. They know neither games nor evaluators."""

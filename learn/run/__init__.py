"""A training run: its configuration, its checkpoints, its strength curve and its progress bar. It knows no method."""

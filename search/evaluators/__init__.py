"""What positions are worth: evaluator files, their kernels, and evaluators by name. Nothing here searches."""

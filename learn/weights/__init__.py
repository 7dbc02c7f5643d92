"""An evaluator while it is trained: as torch modules, as one vector, as a genome, as a population, as an average; and
what moves its weights. Nothing here plays."""

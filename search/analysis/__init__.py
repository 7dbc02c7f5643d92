"""What is said of positions and games for people: answers, reviews, roll-outs, comparisons with the truth, pictures of
searches. Nothing here reads requests."""

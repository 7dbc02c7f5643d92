"""One file an algorithm, in the form in which it is taught. Each says what it promises; `docs/search.md` compares
them."""

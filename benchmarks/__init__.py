"""Benchmarks: `python -m benchmarks.run`. A file `bench_*.py` is found by itself, and in it every function
`bench_*(settings)` that yields rows."""

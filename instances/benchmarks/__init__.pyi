from .reading import read_benchmark as read_benchmark

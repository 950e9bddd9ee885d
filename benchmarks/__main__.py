"""All benchmarks: `python -m benchmarks [--data DIR --models DIR]`, or `make bench`."""

import sys

from benchmarks import load_graph, packing, run, search_speed

# Worker processes import this module too, and measure nothing.
if __name__ == "__main__":
    # Loading first: a process that is started later inherits this one's peak of memory.
    load_graph.main([])
    packing.main()
    run.main([])
    search_speed.main(sys.argv[1:])

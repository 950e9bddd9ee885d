"""All benchmarks: `python -m benchmarks [--data DIR --models DIR]`, or `make bench`."""

import sys

from benchmarks import load_graph, packing, search_speed

packing.main()
search_speed.main(sys.argv[1:])
load_graph.main([])

"""Runs all benchmarks: `python -m benchmarks [--data DIR --models DIR]`, or `make bench`."""

import sys

from benchmarks import (
    caveats,
    kinds,
    load_graph,
    packing,
    pages,
    preprocessing,
    reasons,
    recourse,
    run,
    search_speed,
    what_ifs,
)

if __name__ == "__main__":  # worker processes import this module again
    # Loading comes first: processes started later inherit this process's peak memory.
    load_graph.main([])
    packing.main()
    search_speed.main(sys.argv[1:])
    recourse.main(sys.argv[1:])
    what_ifs.main(sys.argv[1:])
    kinds.main([])
    preprocessing.main([])
    reasons.main([])
    caveats.main(sys.argv[1:])
    run.main([])
    pages.main([])

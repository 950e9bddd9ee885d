"""Stage 1: files of nodes and ties come in, one `Graph` of flat arrays goes out."""

"""Files of nodes and ties come in; one checked `Graph` of flat arrays goes out."""

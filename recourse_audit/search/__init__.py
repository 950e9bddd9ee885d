"""Stage 3: a graph and a query batcher come in; for each subject every explanation and counterfactual,
scored, ranked, and with a statement of how far the search looked, goes out.
"""

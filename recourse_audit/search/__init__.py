"""A graph and a query batcher come in; for each subject every explanation and counterfactual,
scored and ranked, goes out, with a statement of how far the search looked.
"""

"""A graph and a query batcher come in; ranked explanations and counterfactuals go out.

Every result says how far the search looked.
"""

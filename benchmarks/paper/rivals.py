"""The names of the methods that change decisions, and what they have in common."""

MOST_CHANGES = 3
OWN, ANY, NEW = "ours: own ties", "ours: any tie near", "ours: own ties and new ones"
CF, GREEDY = "CF-GNNExplainer", "greedy removal"
RANDOM = "random removals, one draw"
RANDOM_TRIES = "random removals, as many tries as ours"
RANDOM_NEW = "random new ties, one draw"
METHODS = (OWN, ANY, NEW, CF, GREEDY, RANDOM, RANDOM_TRIES, RANDOM_NEW)

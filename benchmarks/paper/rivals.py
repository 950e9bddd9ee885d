"""The methods that change decisions: their names in the cache and on the page."""

MOST_CHANGES = 3
OWN, ANY, NEW = "ours: own ties", "ours: any tie near", "ours: own ties and new ones"
CF, GREEDY = "CF-GNNExplainer", "greedy removal"
RANDOM = "random removals, one draw"
RANDOM_TRIES = "random removals, as many tries as ours"
RANDOM_NEW = "random new ties, one draw"
# Names on the page. Those in the cache stay, so that results of earlier runs are found.
SHOWN = {
    OWN: "options (own ties)",
    ANY: "options (any nearby tie)",
    NEW: "options (own and new ties)",
    CF: CF,
    GREEDY: GREEDY,
    RANDOM: RANDOM,
    RANDOM_TRIES: RANDOM_TRIES,
    RANDOM_NEW: RANDOM_NEW,
}
METHODS = (OWN, ANY, NEW, CF, GREEDY, RANDOM, RANDOM_TRIES, RANDOM_NEW)

"""The paper's published figures: Table III, and the graphs of Table II under our names."""

METHODS = (
    "RND", "EMB", "Grad", "GAT", "GNNExp", "PGExp", "Shapley", "MOEB", "GNN-MOExp",
)  # fmt: skip
OURS = "GNN-MOExp"
# The methods that GNN-MOExp beats in both objectives, according to the paper.
BEATEN = ("RND", "EMB", "GAT", "GNNExp", "PGExp")
GRAPHS = {
    "cora": "Cora",
    "citeseer": "Citeseer",
    "pubmed": "PubMed",
    "musae_facebook": "Musae-F",
    "musae_github": "Musae-G",
    "amazon_computers": "Amazon-C",
    "amazon_photo": "Amazon-P",
    "coauthor_cs": "Coauthor-C",
    "coauthor_physics": "Coauthor-P",
}
TITLES = {**GRAPHS, "german": "German credit"}
SIMULATABILITY = {
    "cora": (-0.196, -0.252, -0.530, -0.243, -0.213, -0.272, -0.256, -0.108, -0.049),
    "citeseer": (-0.051, -0.054, -0.066, -0.050, -0.056, -0.058, -0.068, -0.044, -0.039),
    "pubmed": (-0.081, -0.110, -0.365, -0.117, -0.086, -0.125, -0.129, -0.041, -0.010),
    "musae_facebook": (-0.972, -1.035, -0.899, -0.872, -0.911, -0.895, -0.346, -1.313, -0.199),
    "musae_github": (-0.118, -0.120, -0.693, -0.110, -0.144, -0.220, -0.030, -0.308, -0.005),
    "amazon_computers": (-0.129, -0.126, -0.350, -0.134, -0.144, -0.175, -0.049, -0.298, -0.031),
    "amazon_photo": (-0.163, -0.180, -0.458, -0.175, -0.203, -0.231, -0.058, -0.339, -0.034),
    "coauthor_cs": (-0.216, -0.243, -0.745, -0.264, -0.245, -0.341, -0.097, -0.411, -0.038),
    "coauthor_physics": (-0.146, -0.144, -0.720, -0.220, -0.159, -0.295, -0.057, -0.314, -0.035),
}
RELEVANCE = {
    "cora": (0.240, 0.260, 0.330, 0.243, 0.225, 0.217, 0.615, 0.455, 0.467),
    "citeseer": (0.114, 0.116, 0.116, 0.115, 0.113, 0.112, 0.178, 0.156, 0.159),
    "pubmed": (0.112, 0.129, 0.200, 0.117, 0.100, 0.099, 0.330, 0.235, 0.248),
    "musae_facebook": (0.613, 0.653, 0.438, 0.546, 0.576, 0.520, 0.696, 1.260, 0.806),
    "musae_github": (0.112, 0.119, 0.527, 0.118, 0.126, 0.126, 0.247, 0.366, 0.213),
    "amazon_computers": (0.094, 0.095, 0.258, 0.089, 0.087, 0.061, 0.201, 0.312, 0.215),
    "amazon_photo": (0.122, 0.132, 0.315, 0.123, 0.111, 0.090, 0.257, 0.377, 0.277),
    "coauthor_cs": (0.183, 0.205, 0.568, 0.214, 0.184, 0.184, 0.268, 0.457, 0.263),
    "coauthor_physics": (0.133, 0.141, 0.534, 0.149, 0.138, 0.167, 0.208, 0.367, 0.206),
}

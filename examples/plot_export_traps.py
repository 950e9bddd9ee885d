"""
Is the exported file still the model that was trained?
======================================================

Five exports that went wrong, or nearly, and what ``inspect`` shows of each. Of the last it shows
nothing: an auditor who has only the file cannot know that it is another model than the one in
torch. Those of several kinds of nodes have random weights; they are in the repository alone, so run
this script in its folder ``examples/``.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime

from recourse_audit import AuditError
from recourse_audit.audit.inspect import inspect_model
from recourse_audit.cli.inspect import advice_on
from recourse_audit.testing import find_sample

FILES = Path("../tests/files/kinds")
SAMPLE = find_sample("lending")

# %%
# ``recourse-audit inspect model.onnx`` prints what follows; here we pick the lines that matter.
#
# **A size that was frozen.** The axes were not declared dynamic, so the file takes exactly as many
# people and arcs as the example that it was traced with. An audit fills up every query to that
# size; what does not fit cannot be asked.

inspection = inspect_model(SAMPLE / "fixed.onnx", None)
for port in inspection.signature.inputs:
    print(port.name, port.shape)
print(*advice_on(inspection)[-8:], sep="\n")

# %%
# **Weights that somebody else computes.** The file takes normalised weights of ties, and cannot say
# how they were made. They are never guessed: two preparations may both give plausible answers.

inspection = inspect_model(SAMPLE / "outside_normalised.onnx", None)
print(*advice_on(inspection)[-4:], sep="\n")

# %%
# **Names that lie.** The exporter was given two dictionaries and two names, and handed the second
# name to the employers' features. What is called ``edge_index_dict`` is a table of numbers.

inspection = inspect_model(FILES / "misnamed.onnx", None)
for port in inspection.signature.inputs:
    print(f"{port.name:16} {port.dtype:8} {port.shape}")
print(inspection.problem)

# %%
# **An export that fails where a relation has no tie.** Every query of an audit then gets isolated
# nodes besides, which changes no answer; ``padded`` says so.

print("padded:", inspect_model(FILES / "attributes.onnx", None).probes.padded)

# %%
# **Another model, without an error.** A graph attention network was traced with a graph that had no
# recommendation. The layer left early, and so the file has no softmax over recommendations. Every
# check of ``inspect`` passes: the file is deterministic and indifferent to order, as a model should
# be.

inspection = inspect_model(FILES / "traced_wrong.onnx", None)
print("failed checks:", inspection.probes.failed)

# %%
# Only a comparison with torch's own answers shows it. Whoever trained the model writes down a few,
# on a graph other than the one that was traced; here are the same comparisons for a file that came
# out well.


def answers(name: str) -> tuple[np.ndarray, np.ndarray]:
    """What the file answers on one graph, and what torch answered before the export."""
    arrays = np.load(FILES / f"{name}.npz")
    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level = 3
    session = onnxruntime.InferenceSession(FILES / f"{name}.onnx", quiet)
    inputs = {port.name: arrays[f"large/in/{port.name}"] for port in session.get_inputs()}
    return session.run(["logits"], inputs)[0], arrays["large/out/logits"]


figure, axes = plt.subplots(1, 2, figsize=(7, 3.4), sharex=True, sharey=True, layout="constrained")
for place, name in zip(axes, ("gat", "traced_wrong"), strict=True):
    file, torch = answers(name)
    place.axline((0, 0), slope=1, color="0.7")
    place.scatter(torch, file, s=8)
    place.set_title(f"{name}: up to {np.abs(file - torch).max():.2g} apart")
    place.set_xlabel("logits in torch")
axes[0].set_ylabel("logits in the file")
plt.show()

# %%
# A file that cannot be used at all is refused in one sentence.

try:
    inspect_model(FILES / "files.json", None)
except AuditError as error:
    print(error)

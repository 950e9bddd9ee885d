"""The two objects to learn: `Audit` asks the model, and `Bundle` holds what was found.

>>> import recourse_audit as ra
>>> audit = ra.Audit.from_toml("audit.toml")
>>> audit.explain("P0004")
>>> bundle = audit.run("out", sample=100, workers=2)
>>> bundle.groups().flags

Nothing here computes: each method calls the stage that does. Heavy packages are imported by the
methods that need them.
"""

"""What passes between the stages: frozen facts, each with the words that go with it.

A module a stage that makes them, each importing only from those before it: `probes`, `search`,
`recourse`, `caveats`, `report`, `stability`.
"""

"""What passes between the stages: frozen, typed facts, which are also the documents we write.

`base` has what all records share, `codec` reads and writes them as JSON, and each other module
holds the records of one stage or one document.
"""

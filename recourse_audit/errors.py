"""Every way in which an audit can stop, with the exit code that a pipeline sees.

    AuditError                     1   our own mistake, or one nobody foresaw
    ├── InputError                 2   what the user gave cannot be used
    │   ├── SettingsError              a key or value of audit.toml
    │   ├── GraphError                 a node or tie table
    │   ├── ModelError                 a model file, its inputs or its outputs
    │   │   ├── RoomError              a graph too large for a model exported with a fixed size
    │   │   └── LimitError             a model that takes more time or memory than it may
    │   ├── SubjectError               an id that is not in the graph
    │   ├── DocumentError              a JSON document, by its format or its content
    │   └── TemplateError              a template, style sheet, catalogue or profile
    ├── AnswerError                4   the model answered, but not with numbers that can be used
    ├── PaperError                 4   no PDF can be made on this machine
    ├── FindingError               3   a finding over a threshold of `--fail-on`
    └── VerificationError          5   a bundle is not what its manifest says

A message says what is wrong, where (file, row, key), and what to do next.
"""


class AuditError(Exception):
    """The root of the tree: anything the command line turns into one line and an exit code."""

    exit_code = 1


class InputError(AuditError):
    """The user's files, settings or arguments cannot be used as they are."""

    exit_code = 2


class SettingsError(InputError):
    """A key or a value of the settings is missing, unknown or impossible."""


class GraphError(InputError):
    """A node or tie table cannot be read as a graph."""


class ModelError(InputError):
    """A model file cannot be opened, or cannot be asked what we need to ask."""


class RoomError(ModelError):
    """A graph does not fit into a model that was exported for a fixed size."""


class LimitError(ModelError):
    """The model takes more time or memory than `model.timeout` and `model.memory` allow."""


class SubjectError(InputError):
    """A subject was named that the graph does not hold."""


class TemplateError(InputError):
    """A template, or a piece it needs, is missing or has a mistake in it."""


class DocumentError(InputError):
    """A document is not one of ours, is damaged, or has a format that cannot be read here."""


class AnswerError(AuditError):
    """The model gave an answer that is not a number; the subject at hand cannot be judged."""

    exit_code = 4


class PaperError(AuditError):
    """No PDF can be made on this machine; everything else can."""

    exit_code = 4


class FindingError(AuditError):
    """A finding lies over the threshold that the user set with `--fail-on`."""

    exit_code = 3


class VerificationError(AuditError):
    """A bundle's content does not agree with its manifest."""

    exit_code = 5

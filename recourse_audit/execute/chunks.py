"""The work cut into pieces: a few neighbours each, done by one worker, kept when done.

Pieces depend on the graph, the subjects and the settings, and never on who works on them. A piece
that fails is tried again and then halved, down to the one subject who makes it fail.
"""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from recourse_audit.graph.arrays import Ints
from recourse_audit.audit.loaded import LoadedAudit
from recourse_audit.search.blocks import Block, blocks

SUBJECTS_IN_PIECE = 16
# A small audit is cut finer, so that one that is interrupted loses a small share of its work.
LEAST_PIECES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some subjects of a piece, with bounds on their subtrees; at first, all of them."""

    piece: int
    subjects: tuple[int, ...]
    bounds: tuple[float, ...]
    whole: bool = True
    deaths: int = 0

    @property
    def block(self) -> Block:
        return Block(subjects=np.array(self.subjects, np.int64), bounds=np.array(self.bounds))

    @property
    def patient(self) -> bool:
        """Whether one sudden death of a worker is not yet held against it.

        Somebody may have killed the worker; so a piece gets a second chance before it is halved,
        and a subject before it is given up.
        """
        return self.deaths == 0 and (self.whole or len(self.subjects) == 1)

    def again(self) -> "Part":
        return Part(
            piece=self.piece,
            subjects=self.subjects,
            bounds=self.bounds,
            whole=self.whole,
            deaths=self.deaths + 1,
        )

    def halves(self) -> Iterator["Part"]:
        middle = len(self.subjects) // 2
        for cut in (slice(None, middle), slice(middle, None)):
            yield Part(
                piece=self.piece,
                subjects=self.subjects[cut],
                bounds=self.bounds[cut],
                whole=False,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """All that came of a piece: documents of subjects, and reasons where there is none."""

    piece: int
    documents: dict[int, str] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.documents) + len(self.failures)


def pieces_of(audit: LoadedAudit, subjects: Ints) -> Iterator[Part]:
    """Cut the blocks of the search into pieces, numbered in order."""
    found = blocks(audit.graph, subjects, audit.scope.max_nodes, budget=audit.scope.budget)
    size = min(SUBJECTS_IN_PIECE, max(len(subjects) // LEAST_PIECES, 1))
    number = 0
    for block in found:
        for first in range(0, len(block.subjects), size):
            cut = slice(first, first + size)
            own, bounds = block.subjects[cut].tolist(), block.bounds[cut].tolist()
            yield Part(piece=number, subjects=tuple(own), bounds=tuple(bounds))
            number += 1


class Queue:
    """Parts that wait for a worker, the largest first, and what has come back so far."""

    def __init__(self, pieces: Iterable[Part]) -> None:
        self._waiting: list[tuple[float, int, tuple[int, ...], Part]] = []
        self._sizes: dict[int, int] = {}
        self._found: dict[int, Finished] = {}
        for piece in pieces:
            self._sizes[piece.piece] = len(piece.subjects)
            self._found[piece.piece] = Finished(piece=piece.piece)
            self.put(piece)

    def __len__(self) -> int:
        """How many pieces are not finished."""
        return len(self._found)

    def put(self, part: Part) -> None:
        """Let a part wait."""
        heapq.heappush(self._waiting, (-sum(part.bounds), part.piece, part.subjects, part))

    def take(self) -> Part | None:
        """The next part to work on, if one waits."""
        return heapq.heappop(self._waiting)[-1] if self._waiting else None

    def done(self, part: Part, documents: dict[int, str]) -> Finished | None:
        """Keep what came of a part; the piece, if this was the last of it."""
        self._found[part.piece].documents.update(documents)
        return self._complete(part.piece)

    def failed(self, part: Part, reason: str, *, sudden: bool = False) -> Finished | None:
        """Try again, in halves, or give up on the one subject; the piece, if that ends it.

        `sudden` is the death of a worker, which may have had another cause.
        """
        if sudden and part.patient:
            self.put(part.again())
        elif len(part.subjects) > 1:
            for half in part.halves():
                self.put(half)
        else:
            self._found[part.piece].failures[part.subjects[0]] = reason
        return self._complete(part.piece)

    def _complete(self, piece: int) -> Finished | None:
        if len(self._found[piece]) < self._sizes[piece]:
            return None
        return self._found.pop(piece)

"""The path of a game: the decisions that it has come through, for games in which a position may come again.

A repetition is no property of a state, so whoever plays or searches a game keeps its path. It is an int64 array

    [COUNT]   how many decisions it holds
    [RESTS]   the smallest index of a decision that an answer has rested on since this was set to FREE
    [KEYS:]   their `repetition_key`s, the oldest first

and holds the decisions before the one that is due: `reach` adds that one once its move is chosen, or while its moves
are searched, and `step_back` takes it away again. In a game without repetitions (`Rules.repetition` 0) nothing is kept,
its path has no entries, and all of this is compiled away.

**Values that rest on a repetition** hold on one path only, and a search that remembers values by position would find
them again where the path is another one. There are two ways out:

- `past_key` mixes the path into the key of a table, so that only paths through the same positions share values. This is
  exact, and the textbook algorithms do so.
- `recurrence` notes in [RESTS] which decision its answer rests on. A node whose value rests on a decision above it is
  not stored (`settle`). What is stored is then the value of the position in a game that begins there. The engine does
  so, since it would find too little otherwise; a value from its table may overlook a repetition with the path of now.
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.bits import mix
from deltaw.envs.game import FORBIDDEN, Rules
from deltaw.envs.kernel import kernel

COUNT, RESTS, KEYS = range(3)
FREE = 1 << 62
"""path[RESTS] where nothing rests on a repetition"""


def path_size(rules: Rules, plies: int = 0) -> int:
    """Length of a path that has room for so many decisions more than can matter."""
    return KEYS + rules.path_plies + plies + 1 if rules.repetition else 0


def make_path(rules: Rules, plies: int = 0) -> np.ndarray:
    """The path of a game that begins."""
    path = np.zeros(path_size(rules, plies), np.int64)
    begin_path(rules, path)
    return path


def make_paths(rules: Rules, games: int) -> np.ndarray:
    """Of so many games: int64 [games, P]."""
    return np.tile(make_path(rules), (games, 1))


@kernel
def begin_path(rules, path):
    """No decision yet."""
    if rules.repetition != 0:
        path[COUNT], path[RESTS] = 0, FREE


@kernel
def follow(rules, path, other):
    """`path` becomes a copy of the part of `other` that can matter. Precondition: it has room for `path_plies`."""
    begin_path(rules, path)
    if rules.repetition != 0:
        n = min(other[COUNT], np.int64(rules.path_plies))
        first = KEYS + other[COUNT] - n
        for i in range(n):
            path[KEYS + i] = other[first + i]
        path[COUNT] = n


@kernel
def reach(rules, path, state):
    """The decision `state` joins the path; where there is no room, the oldest is forgotten."""
    if rules.repetition != 0:
        if KEYS + path[COUNT] == len(path):
            for i in range(KEYS, len(path) - 1):
                path[i] = path[i + 1]
            path[COUNT] -= 1
        path[KEYS + path[COUNT]] = rules.repetition_key(state)
        path[COUNT] += 1


@kernel
def step_back(rules, path):
    """The last decision leaves the path."""
    if rules.repetition != 0:
        path[COUNT] -= 1


@kernel
def recurrence(rules, path, state):
    """Where in the path the position of `state` stands that makes this occurrence one too many: its index, or -1."""
    if rules.repetition != 0:
        n = path[COUNT]
        first = max(n - rules.reversible(state), 0)
        if first >= n:
            return -1
        key, left = rules.repetition_key(state), max(rules.repetition - 1, 1)
        if key != 0:
            for i in range(n - 1, first - 1, -1):
                if path[KEYS + i] == key:
                    left -= 1
                    if left == 0:
                        path[RESTS] = min(path[RESTS], i)
                        return i
    return -1


@kernel
def settle(path, rested):
    """A node is left, at whose beginning [RESTS] was `rested` and was set to FREE: whether its value rests on no
    decision above it. Precondition: the node's own decision is the path's last."""
    own = path[RESTS]
    alone = own >= path[COUNT] - 1
    path[RESTS] = rested if alone else min(rested, own)
    return alone


@kernel
def is_drawn(rules, path, state):
    """Whether the game ends in a draw here because the position has occurred too often."""
    return rules.repetition != 0 and rules.repetition != FORBIDDEN and recurrence(rules, path, state) >= 0


@kernel
def is_forbidden(rules, path, state):
    """Whether no move may lead to `state` because the position has occurred before."""
    return rules.repetition == FORBIDDEN and recurrence(rules, path, state) >= 0


@kernel
def past_key(rules, path, state):
    """63 bits that two paths to `state` share where the same positions of them can occur again, in any order; 0 where
    none can."""
    word = np.uint64(0)
    if rules.repetition != 0:
        n = path[COUNT]
        for i in range(max(n - rules.reversible(state), 0), n):
            word += mix(np.uint64(path[KEYS + i]))
    return np.int64(word >> np.uint64(1))


# --- the rules on a path ----------------------------------------------------------------------------------------------


@kernel
def outcome(rules, path, state):
    """`Rules.outcome`, and a draw where the position has occurred too often."""
    over, value = rules.outcome(state)
    if not over and is_drawn(rules, path, state):
        return True, np.int64(0)
    return over, value


@kernel
def legal_moves(rules, path, state, moves):
    """`Rules.legal_moves` without those that the path forbids."""
    return _allowed(rules, path, state, moves, rules.legal_moves(state, moves))


@kernel
def noisy_moves(rules, path, state, moves):
    """`Rules.noisy_moves` without those that the path forbids."""
    return _allowed(rules, path, state, moves, rules.noisy_moves(state, moves))


@kernel
def _allowed(rules, path, state, moves, n):
    """Drops the moves that the path forbids from moves[:n]; the number of the others."""
    if rules.repetition == FORBIDDEN:
        kept = 0
        for i in range(n):
            if not is_forbidden(rules, path, rules.play(state, moves[i])):
                moves[kept] = moves[i]
                kept += 1
        n = kept
    return n


@kernel
def expand(rules, path, state, moves, rows):
    """`Rules.expand` without the moves that the path forbids."""
    n = rules.expand(state, moves, rows)
    if rules.repetition == FORBIDDEN:
        kept = 0
        for i in range(n):
            if not is_forbidden(rules, path, rules.load(rows[i])):
                moves[kept] = moves[i]
                rows[kept] = rows[i]
                kept += 1
        n = kept
    return n


@kernel
def action_mask(rules, path, state, word, out):
    """`Rules.action_mask` without the actions that only begin moves that the path forbids."""
    rules.action_mask(state, word, out)
    if rules.repetition == FORBIDDEN:
        for action in range(rules.num_actions):
            if out[action] != 0 and not _leads_on(rules, path, state, word, action):
                out[action] = 0


@kernel
def _leads_on(rules, path, state, word, action):
    """Whether some allowed move begins with `word` and `action`."""
    longer, complete = rules.spell(state, word, action)
    if complete:
        return not is_forbidden(rules, path, rules.play(state, longer))
    mask = np.zeros(rules.num_actions, np.int8)
    rules.action_mask(state, longer, mask)
    for following in range(rules.num_actions):
        if mask[following] != 0 and _leads_on(rules, path, state, longer, following):
            return True
    return False

"""The engine: one searcher that combines several techniques, for any deterministic game of two players.

    always                          descent by levels with aspiration windows, principal variation search, a
                                    transposition table, move ordering
    where a game marks noisy moves  quiescence and singular extension
    where it knows danger           evasions in quiescence, danger extension (in chess: check)
    where it is asked for           null move, late-move reductions

`search_node` is written in numbered steps; `search/tree/engine_root.py` calls it level by level from the root;
`search/tree/engine.py` is the interface to call.

**Promise.** With `PLAIN` options the value is that of minimax at the same depth, and `Visitor`s see proven bounds. The
other options are selective: quiescence, the extensions, null move and reductions are heuristics, and deeper table
entries answer for shallower ones.

**Wins are counted in plies.** With `step` > 0 a finished game of the largest outcome `top` is worth top - ply x step,
so that a quicker win and a slower loss are better; in the table such values are counted from the node itself.
Evaluations are kept below `top` - MARGIN, so that any value above this is a proven win.

**Proven positions.** A position whose value rests on finished games alone, on no evaluation, is stored with the depth
PROVEN and answers at any depth; when the root is one, the descent ends. A win is proven in this sense only once the
search is as deep as the win is far: an extended line may have found a slow one first.

Letters: P plies, M most moves of a decision.

Sources: A. Reinefeld, "An improvement to the Scout tree-search algorithm" (1983), for the null windows; J. Schaeffer,
"The history heuristic and alpha-beta search enhancements in practice" (1989); C. Donninger, "Null move and deep search"
(1993); T. Anantharaman, M. Campbell and F. Hsu, "Singular extensions" (1990); T. Romstad, "An introduction to late move
reductions" (2006).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.bits import highest
from deltaw.envs.control import OPEN, PATH, enter, stopped
from deltaw.envs.game import Rules
from deltaw.envs.kernel import kernel
from deltaw.envs.path import FREE, RESTS, make_path, settle
from deltaw.search.tree import transposition as tt
from deltaw.search.tree.stack import leave, leave_path, node_moves, node_noisy_moves, node_outcome, opinion, path_in

GENERATION, VERSION = PATH + 1, PATH + 2
"""control[GENERATION]: number of this search; [VERSION]: of the evaluator"""
HISTORY, HISTORY_SIZE = 8, 4096
"""control[HISTORY:]: how often a move code (modulo the size) has cut off, weighted by depth squared"""
CONTROL_SIZE = HISTORY + HISTORY_SIZE
"""behind that comes the path"""

MARGIN = 2.0**-9
"""distance of evaluations below a certain win: room for 2^11 plies of STEP"""
STEP = 2.0**-20

TABLE_MOVE, GAIN, FIRST_KILLER, SECOND_KILLER = 1 << 60, 1 << 48, 2 << 46, 1 << 46
"""scores of moves: the table's; for a gain of 1; killers. History stays far below."""
REDUCED_FROM = 3
"""shallowest depth at which late moves are reduced"""


class Options(NamedTuple):
    """The engine's knobs; numbers, so that one compilation serves them all."""

    deeper: int = 1
    """1: table entries of deeper searches answer for shallower ones; 0: only those of the same depth do"""
    table_from: int = 2
    """shallowest depth at which the table is asked: at smaller depths a search is faster than a look-up"""
    order_from: int = 2
    """shallowest depth at which moves are ordered; below, they come in the game's own order"""
    quiet_plies: int = 0
    """longest line of noisy moves behind the horizon; 0: no quiescence"""
    singular_margin: float = 0.0
    """margin in outcome units: a table move that is better than all others by more is searched one ply deeper; 0:
    never"""
    null_reduction: int = 0
    """plies saved by letting the opponent move twice; 0: no null move"""
    danger_extension: int = 0
    """plies that a move is searched deeper if it puts the opponent in danger"""
    late_moves: int = 0
    """so many moves of a node are searched to the full depth; quiet ones behind them are searched shallower first, and
    again if they turn out to be better; 0: all are searched to the full depth"""
    step: float = STEP
    """cost of a ply by which a win is delayed"""
    aspiration: float = 0.05
    """half width of the first window of a level, in outcome units"""
    ties: int = 0
    """1: find all root moves tied for best"""
    full: int = 0
    """1: the exact value of every root move"""


PLAIN = Options(deeper=0, table_from=1, step=0.0)
"""the value of minimax, to the last bit"""


class Memory(NamedTuple):
    """The memory of an engine: as few arrays as possible, since each costs a nanosecond a node."""

    frames: np.ndarray
    """int64 [P, 2 M + 3 + P]: of each ply the moves, their scores, two killers, and the best line with its length
    first"""
    table: np.ndarray
    control: np.ndarray
    """int64 [CONTROL_SIZE + P]: of `make_engine_control`"""
    work: Any


def make_engine_control(rules: Rules, plies: int) -> np.ndarray:
    """For searches of at most so many plies."""
    control = np.concatenate([np.zeros(CONTROL_SIZE, np.int64), make_path(rules, plies + 1)])
    control[PATH] = CONTROL_SIZE
    return control


@kernel
def line_start(rules):
    return 2 * rules.max_moves + 2


# --- values -----------------------------------------------------------------------------------------------------------


@kernel
def top_value(rules):
    return np.float64(rules.outcomes[len(rules.outcomes) - 1])


@kernel
def is_certain(rules, options, value):
    """A win or loss that has been proven."""
    return options.step > 0.0 and abs(value) > top_value(rules) - MARGIN


@kernel
def finished(rules, options, result, ply):
    """A finished game as the root sees it."""
    value = np.float64(result)
    if abs(value) == top_value(rules):
        value -= np.copysign(ply * options.step, value)
    return value


@kernel
def judge(rules, leaf, options, state, memory):
    """The evaluator's opinion, kept apart from certain wins."""
    value = opinion(rules, leaf, state, memory)
    if options.step > 0.0:
        most = top_value(rules) - MARGIN
        value = min(max(value, -most), most)
    return value


@kernel
def is_settled(rules, options, value, depth):
    """Whether a value found `depth` moves deep that rests on finished games alone would be the same at any greater
    depth. A win that an extended line has found beyond the depth need not be the quickest one."""
    return not is_certain(rules, options, value) or abs(value) + depth * options.step >= top_value(rules)


@kernel
def counted_from(rules, options, value, plies):
    """A certain win `plies` further away, or nearer where `plies` is below 0."""
    return value - plies * np.copysign(options.step, value) if is_certain(rules, options, value) else value


@kernel
def known_value(rules, leaf, options, state, ply, memory):
    """`DeepLeaf.look_up` of an engine that knows something."""
    known, result, distance = leaf.known.probe(leaf.known.facts, state)
    if not known:
        return False, 0.0
    if result == 0 or distance >= 0 or options.step == 0.0:
        return True, finished(rules, options, result, ply + max(distance, 0))
    # Won, who knows how soon: below wins that have been counted, and the evaluator says which way is forward.
    certainty = np.copysign(top_value(rules) - 2 * MARGIN, np.float64(result))
    return True, certainty + MARGIN / top_value(rules) * judge(rules, leaf, options, state, memory)


# --- ordering ---------------------------------------------------------------------------------------------------------


@kernel
def order_moves(rules, state, frame, n, table_move, control):
    """Scores of the moves frame[:n]: the table's move, gains, killers, history, losses; equals stay in the game's
    order."""
    most = rules.max_moves
    for i in range(n):
        move = frame[i]
        score, gain = control[HISTORY + (move & (HISTORY_SIZE - 1))], rules.gain(state, move)
        if move == table_move:
            score = TABLE_MOVE
        elif gain != 0:
            score = gain * GAIN
        elif move == frame[2 * most]:
            score = FIRST_KILLER
        elif move == frame[2 * most + 1]:
            score = SECOND_KILLER
        frame[most + i] = score


@kernel
def next_move(rules, frame, i, n):
    """The best of the moves frame[i:n], brought to place i; those before it move up by one, so that equals keep their
    order."""
    most = rules.max_moves
    best = i
    for j in range(i + 1, n):
        if frame[most + j] > frame[most + best]:
            best = j
    move, score = frame[best], frame[most + best]
    for j in range(best, i, -1):
        frame[j], frame[most + j] = frame[j - 1], frame[most + j - 1]
    frame[i], frame[most + i] = move, score
    return move


@kernel
def reward(rules, state, frame, move, depth, control):
    """A move that cut off is tried early where it turns up again; what it gains at once says so itself."""
    if rules.gain(state, move) != 0:
        return
    most = rules.max_moves
    if move != frame[2 * most]:
        frame[2 * most + 1] = frame[2 * most]
        frame[2 * most] = move
    control[HISTORY + (move & (HISTORY_SIZE - 1))] += depth * depth


@kernel
def keep_line(rules, frames, ply, move):
    """The best line of this ply: `move`, then that of the next ply."""
    start = line_start(rules)
    below = frames[ply + 1, start]
    frames[ply, start] = below + 1
    frames[ply, start + 1] = move
    for i in range(below):
        frames[ply, start + 2 + i] = frames[ply + 1, start + 1 + i]


# --- nodes ------------------------------------------------------------------------------------------------------------


@kernel
def quiesce(rules, leaf, options, state, alpha, beta, ply, left, memory):
    """Value of `state` once the noisy moves are played out, at most `left` plies of them; fail-soft. The mover may
    stand pat unless he is in danger."""
    if enter(memory.control):
        return 0.0
    over, result = node_outcome(rules, state, memory)
    if over:
        return finished(rules, options, result, ply)
    known, value = leaf.look_up(rules, leaf, options, state, ply, memory)
    if known:
        return value
    is_last, in_danger, best = left <= 0 or ply + 1 >= len(memory.frames), rules.in_danger(state), -np.inf
    if is_last or not in_danger:
        best = judge(rules, leaf, options, state, memory)
        if best >= beta or is_last:
            return best
    frame, mover = memory.frames[ply], rules.seat(state)
    n = node_moves(rules, state, frame, memory) if in_danger else node_noisy_moves(rules, state, frame, memory)
    for i in range(n):
        if not in_danger and rules.gain(state, frame[i]) < 0:
            continue
        child, bound = rules.play(state, frame[i]), max(alpha, best)
        turned = rules.seat(child) != mover
        low, high = (-beta, -bound) if turned else (bound, beta)
        value = quiesce(rules, leaf, options, child, low, high, ply + 1, left - 1, memory)
        if stopped(memory.control):
            return 0.0
        best = max(best, -value if turned else value)
        if best >= beta:
            break
    leave_path(rules, memory)
    return best


@kernel
def horizon(rules, leaf, visitor, options, state, alpha, beta, ply, memory):
    """A node without depth left: the end of the game, the evaluator's opinion, or quiescence."""
    memory.frames[ply, line_start(rules)] = 0
    if options.quiet_plies > 0:
        return quiesce(rules, leaf, options, state, alpha, beta, ply, options.quiet_plies, memory)
    if enter(memory.control):
        return 0.0
    over, result = node_outcome(rules, state, memory)
    known, value = (False, 0.0) if over else leaf.look_up(rules, leaf, options, state, ply, memory)
    if not known:
        value = finished(rules, options, result, ply) if over else judge(rules, leaf, options, state, memory)
    visitor.visit(visitor.memory, state, 0, value, value)
    return value


@kernel
def answers(rules, options, memory, row, depth, alpha, beta, ply):
    """(whether the table entry settles a search of this depth and window, its value as the root sees it)."""
    kept = tt.entry_depth(memory.table, row)
    if kept != depth and (options.deeper == 0 or kept < depth):
        return False, 0.0
    value = counted_from(rules, options, tt.entry_value(memory.table, row), ply)
    bound = tt.entry_bound(memory.table, row)
    settled = bound == tt.EXACT or (bound == tt.LOWER and value >= beta) or (bound == tt.UPPER and value <= alpha)
    if settled and kept < tt.PROVEN:
        memory.control[OPEN] += 1
    return settled, value


@kernel
def keep(rules, options, memory, key, depth, value, alpha, beta, move, ply, opened):
    """Stores what a node has found; `opened` is control[OPEN] of the time when it was entered."""
    proven = options.deeper != 0 and memory.control[OPEN] == opened
    bound, value = tt.bound_of(value, alpha, beta), counted_from(rules, options, value, -ply)
    kept = tt.PROVEN if proven and is_settled(rules, options, value, depth) else depth
    tt.store(memory.table, key, kept, bound, value, move, memory.control[GENERATION])


@kernel
def search_node(rules, leaf, visitor, options, state, depth, alpha, beta, ply, may_pass, memory):
    """Value of `state` for its mover, `depth` moves deep, as the root sees it from `ply` moves away; fail-soft.

    Precondition: alpha < beta, depth >= 1, 0 < ply < P. The best line of an open window's node is in frames[ply].
    """
    control, frames = memory.control, memory.frames
    # 1. Count; stop where a limit was reached.
    if enter(control):
        return 0.0
    frame, mover = frames[ply], rules.seat(state)
    frame[line_start(rules)] = 0
    # 2. The end of the game, or a position that is known.
    over, result = node_outcome(rules, state, memory)
    if over:
        value = finished(rules, options, result, ply)
        visitor.visit(visitor.memory, state, depth, value, value)
        return value
    known, value = leaf.look_up(rules, leaf, options, state, ply, memory)
    if known:
        visitor.visit(visitor.memory, state, depth, value, value)
        return value
    # 3. Nothing is better than to win at once.
    is_open = beta > np.nextafter(alpha, np.inf)
    if options.step > 0.0:
        most = top_value(rules) - (ply + 1) * options.step
        if alpha >= most:
            return most
    # 4. The table. An open window is searched all the same: it wants a line.
    tabled = depth >= options.table_from
    key, table_move, opened = np.int64(0), np.int64(tt.NO_MOVE), control[OPEN]
    if tabled:
        key = tt.table_key(rules, state, control[VERSION])
        row = tt.find(memory.table, key)
        if row >= 0:
            settled, value = answers(rules, options, memory, row, depth, alpha, beta, ply)
            if settled and not is_open:
                return value
            control[OPEN] = opened
            table_move = tt.entry_move(memory.table, row)
    # 5. Null move: if even two moves in a row do not help the opponent, this line is good enough. A position that the
    #    evaluator does not think so good already is not worth the try.
    tries = options.null_reduction > 0 and may_pass != 0 and not is_open and depth > options.null_reduction + 1
    if tries and judge(rules, leaf, options, state, memory) >= beta:
        value = pass_turn(rules, leaf, visitor, options, state, depth, beta, ply, memory)
        if value >= beta and not is_certain(rules, options, value):
            control[OPEN] += 1
            return value
    control[OPEN] = opened
    # 6. Moves, in promising order; at the last plies in the game's own.
    rested = begin_node(rules, memory)
    n = node_moves(rules, state, frame, memory)
    if depth >= options.order_from:
        order_moves(rules, state, frame, n, table_move, control)
    # 7. Singular extension: one move clearly better than all others.
    extra = 0
    if options.singular_margin > 0.0 and tabled and table_move >= 0 and depth >= 4:
        extra = singular(rules, leaf, visitor, options, state, depth, ply, n, key, table_move, memory)
    # 8. The first move gets the window; the others must prove that they are better before they get it.
    #    A late quiet move must first prove it at a smaller depth.
    best, best_move = -np.inf, np.int64(tt.NO_MOVE)
    for i in range(n):
        move = next_move(rules, frame, i, n) if depth >= options.order_from else frame[i]
        child, bound = rules.play(state, move), max(alpha, best)
        turned = rules.seat(child) != mover
        left = depth - 1 + (extra if move == table_move else 0) + extension(rules, options, child)
        late = reduction(rules, options, state, child, move, depth, i)
        narrow = is_open and i > 0
        while True:
            high = np.nextafter(bound, np.inf) if narrow else beta
            a, b = (-high, -bound) if turned else (bound, high)
            if left <= 0 or ply + 2 >= len(frames):
                value = horizon(rules, leaf, visitor, options, child, a, b, ply + 1, memory)
            else:
                now = left - late
                value = search_node(rules, leaf, visitor, options, child, now, a, b, ply + 1, np.int64(1), memory)
            value = -value if turned else value
            if late > 0 and value > bound:
                late = np.int64(0)
            elif narrow and bound < value < beta:
                narrow = False
            else:
                break
        if stopped(control):
            return 0.0
        if value > best:
            best, best_move = value, move
            if value > alpha and is_open:
                keep_line(rules, frames, ply, move)
            if value >= beta:
                if depth >= options.order_from:
                    reward(rules, state, frame, move, depth, control)
                break
    # 9. Remember, unless the value holds on this path only.
    alone = end_node(rules, rested, memory)
    if tabled and alone:
        keep(rules, options, memory, key, depth, best, alpha, beta, best_move, ply, opened)
    leave(visitor, control, state, depth, best, alpha, beta)
    return best


@kernel
def extension(rules, options, child):
    """Plies that a move to `child` is searched deeper."""
    return options.danger_extension if options.danger_extension > 0 and rules.in_danger(child) else 0


@kernel
def reduction(rules, options, state, child, move, depth, i):
    """Plies by which the i-th move is searched shallower at first, so that at least one is left; the later the move and
    the deeper the search, the more."""
    if options.late_moves == 0 or i < options.late_moves or depth < REDUCED_FROM:
        return np.int64(0)
    if rules.noisy(state, move) or rules.in_danger(state) or rules.in_danger(child):
        return np.int64(0)
    return min(1 + highest(depth) * highest(i) // 6, depth - 2)


@kernel
def begin_node(rules, memory):
    """What [RESTS] of the path was when a node began; see `end_node`."""
    if rules.repetition == 0:
        return np.int64(0)
    path = path_in(memory.control)
    rested, path[RESTS] = path[RESTS], FREE
    return rested


@kernel
def end_node(rules, rested, memory):
    """The node leaves the path: whether its value rests on no decision above it."""
    if rules.repetition == 0:
        return True
    alone = settle(path_in(memory.control), rested)
    leave_path(rules, memory)
    return alone


@kernel(inline="always")  # a cycle of two kernels crashes the next process that finds them in the cache
def pass_turn(rules, leaf, visitor, options, state, depth, beta, ply, memory):
    """Value of passing for the mover, at reduced depth, in the null window below `beta`; minus infinity where the game
    does not allow it. The opponent may not pass in return."""
    after = rules.null(state)
    if rules.key(after) == rules.key(state) or ply + 2 >= len(memory.frames):
        return -np.inf
    left = depth - 1 - options.null_reduction
    below = np.nextafter(beta, -np.inf)
    return -search_node(rules, leaf, visitor, options, after, left, -beta, -below, ply + 1, np.int64(0), memory)


@kernel(inline="always")
def singular(rules, leaf, visitor, options, state, depth, ply, n, key, table_move, memory):
    """1 if all moves but the table's fail, at half the depth, to come within the margin of its value; else 0."""
    frame, mover = memory.frames[ply], rules.seat(state)
    row = tt.find(memory.table, key)
    if row < 0 or tt.entry_bound(memory.table, row) == tt.UPPER or tt.entry_depth(memory.table, row) < depth - 3:
        return 0
    value = counted_from(rules, options, tt.entry_value(memory.table, row), ply)
    if is_certain(rules, options, value) or ply + 2 >= len(memory.frames):
        return 0
    target = value - options.singular_margin
    below = np.nextafter(target, -np.inf)
    for i in range(n):
        if frame[i] == table_move:
            continue
        child = rules.play(state, frame[i])
        turned = rules.seat(child) != mover
        a, b = (-target, -below) if turned else (below, target)
        other = search_node(rules, leaf, visitor, options, child, depth // 2 - 1, a, b, ply + 1, np.int64(1), memory)
        if (-other if turned else other) >= target or stopped(memory.control):
            return 0
    return 1

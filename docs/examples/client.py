"""A program that lets deltaw play a game against itself, by the line protocol (docs/protocol.md). Python's standard
library alone.

python docs/examples/client.py tic_tac_toe
python docs/examples/client.py backgammon 7          # 7: seed of the dice
"""

import json
import subprocess
import sys


class Client:
    """`deltaw lines GAME ...`, and how to ask it."""

    def __init__(self, *arguments):
        command = [sys.executable, "-m", "deltaw.search.lines", *arguments]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, do, **request):
        self.process.stdin.write(json.dumps({"do": do, **request}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or '{"ok": false, "error": "the program has ended"}')
        if not answer["ok"]:
            raise ValueError(answer["error"])
        return answer


def play(client, game, seed):
    """One game, printed move by move."""
    now = client.ask("show", game=game)
    while not now["over"]:
        if now["needs_dice"]:
            now = client.ask("roll", game=game, position=now["position"], seed=seed)
            seed += 1
        else:
            best = client.ask("choose", game=game, position=now["position"], dice=now["dice"], seconds=0.05)
            print(f"player {now['seat'] + 1}: {now['dice'] or ''} {best['move']}")
            now = client.ask("show", game=game, position=best["position"])
    print(f"{now['text']}\n\npoints: {now['payoffs']}")


if __name__ == "__main__":
    game = sys.argv[1] if len(sys.argv) > 1 else "tic_tac_toe"
    try:
        play(Client(game), game, seed=int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    except (ValueError, BrokenPipeError) as error:
        raise SystemExit(f"error: {error}") from None

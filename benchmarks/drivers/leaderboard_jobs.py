"""Jobs through PyPI's `leaderboard`, run in an environment of its own.

Started with a port, a key and a number of players. For each line `job seconds` on its input it prints players a second.
"""

import random
import sys
import time

from leaderboard.leaderboard import Leaderboard

BATCH = 100


def main():
    """Do what the lines say."""
    port, key, players = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    board = Leaderboard(key, host="127.0.0.1", port=port)
    chance = random.Random(3)

    def player():
        return f"p{chance.randrange(players)}"

    def update(member, score):
        board.rank_member(member, score)
        return board.rank_for(member)

    def batch(members_and_scores):
        board.rank_members(members_and_scores)
        return board.ranked_in_list(members_and_scores[::2])

    def single():
        return 1, update, (player(), chance.randrange(10**7))

    def many():
        return BATCH, batch, ([part for _ in range(BATCH) for part in (player(), chance.randrange(10**7))],)

    def ranks():
        return BATCH, board.ranked_in_list, ([player() for _ in range(BATCH)],)

    jobs = {"update": single, "batch": many, "ranks": ranks}
    for line in sys.stdin:
        name, seconds = line.split()
        spent, done = 0.0, 0
        while spent < float(seconds):
            # What it takes to make up players is not measured.
            count, job, arguments = jobs[name]()
            begun = time.perf_counter()
            job(*arguments)
            spent += time.perf_counter() - begun
            done += count
        print(done / spent, flush=True)


main()

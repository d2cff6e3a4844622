"""The write protocol under seeded schedules: real writers on a simulated network, with failures at every await.

`python -m tests.simulation SEED` replays one schedule and prints what happened; `--seeds 10000 --from 1` runs many.
"""

"""Stands in for another script: its own log, rows of its own form, no status.json, no resume.

Writes ``answers.jsonl`` where it is started, and ``KEY`` only by its length.
"""

from __future__ import annotations

import json
import os
import time

print("key of", len(os.environ.get("THEIR_KEY", "")), "characters", flush=True)
with open("answers.jsonl", "a") as out:
    for number in range(1, 100_000):
        if number % 5 == 0:
            print(f"ERROR sample {number}: Request timed out.", flush=True)
        else:
            row = {"id": number, "question": "Why?", "reasoning": "Since.", "answer": f"{number}"}
            out.write(json.dumps(row) + "\n")
            out.flush()
        if number % 10 == 0:
            print(
                f"Progress: {number}/25000 ({number // 5} errors), 20.0 req/s, "
                f"avg completion: 1263 tokens, elapsed: {number}s",
                flush=True,
            )
        time.sleep(0.01)

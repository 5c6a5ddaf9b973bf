"""How many at a time: fixed, turned, or climbed to, against a made-up server."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from eagle3_core.generation.concurrency import FIRST, HIGHEST, Concurrency, Load, setting


@dataclass
class Server:
    """Tokens/s grow with the batch up to ``slots``; more than that waits or is sent away."""

    slots: int
    a_stream: float = 50.0
    silent: bool = False
    queue: int | None = None
    tokens: float = 0.0
    sent_away: int = 0
    preemptions: float = 0.0
    kv_slots: int = 10_000

    def second(self, now: float, limit: int) -> Load:
        running = min(limit, self.slots)
        waiting = limit - running
        if self.queue is not None and waiting > self.queue:
            self.sent_away += waiting - self.queue
            waiting = self.queue
        if running > self.kv_slots:
            self.preemptions += 3
        self.tokens += self.a_stream * running / (1 + running / 500)
        shown = None if self.silent else float(running)
        return Load(
            now=now,
            in_flight=running + waiting,
            tokens=self.tokens,
            sent_away=self.sent_away,
            running=shown,
            waiting=None if self.silent else float(waiting),
            preemptions=None if self.silent else self.preemptions,
            first_token_s=0.2 if waiting == 0 else 0.2 + waiting / 10,
        )


def levels(server: Server, seconds: int = 120) -> tuple[list[int], list[str]]:
    auto = Concurrency("auto")
    seen, said = [auto.limit], []
    for second in range(seconds):
        line = auto.look(server.second(float(second), auto.limit))
        if line:
            said.append(line)
        seen.append(auto.limit)
    return seen, said


@pytest.mark.parametrize("slots", [24, 64, 100, 256])
def test_it_finds_the_servers_batch(slots: int) -> None:
    seen, said = levels(Server(slots))
    assert seen[0] == FIRST
    assert seen[-1] == slots
    assert f"it batches {slots}" in said[-1]


def test_a_server_that_refuses_more_is_asked_for_less_at_once() -> None:
    seen, said = levels(Server(32, queue=4))
    assert max(seen) <= 64
    assert seen[-1] == 32
    assert any("sent" in line and "away" in line for line in said)


def test_a_server_without_metrics_is_judged_by_its_tokens_and_first_tokens() -> None:
    seen, said = levels(Server(40, silent=True), 300)
    assert 32 <= seen[-1] <= 64
    assert said


def test_preemptions_are_a_reason_to_back_off() -> None:
    seen, said = levels(Server(512, kv_slots=120), 200)
    assert any("KV cache" in line for line in said)
    assert max(seen[100:]) <= 120 * 9 / 8 + 1


def test_no_gain_is_no_reason_to_climb() -> None:
    class Flat(Server):
        def second(self, now: float, limit: int) -> Load:
            load = super().second(now, limit)
            self.tokens = now * 1000
            return Load(**{**load.__dict__, "tokens": self.tokens})

    seen, said = levels(Flat(4096), 60)
    assert seen[-1] == FIRST
    assert "no gain" in said[-1]


def test_turning() -> None:
    held = Concurrency(128)
    assert (held.limit, held.word) == (128, "128")
    assert held.turn(128) == ""
    assert held.turn(64) == "concurrency: 64 from now on"
    assert held.limit == 64
    assert held.look(Load(0, 0, 0)) == ""
    assert "auto" in held.turn("auto")
    assert (held.limit, held.word) == (64, "auto: 64")
    assert held.turn("auto") == ""


@pytest.mark.parametrize(("text", "value"), [("1", 1), ("4096", HIGHEST), (" auto ", "auto")])
def test_settings_as_people_write_them(text: str, value: int | str) -> None:
    assert setting(text) == value


@pytest.mark.parametrize("text", ["0", "4097", "-1", "many", "", "1.5"])
def test_settings_that_are_none(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - argparse only wants the kind
        setting(text)

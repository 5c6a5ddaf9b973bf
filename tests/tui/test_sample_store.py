from scenarios import record

from eagle3_console.sample_store import KEEP_RECORDS, SampleStore
from eagle3_core.records import AnswerState


def test_the_newest_is_followed_until_the_reader_steps() -> None:
    store = SampleStore()
    store.add([record(1), record(2)])
    assert store.advance()
    assert store.shown == record(2)
    assert store.place == "latest"
    store.step(-1)
    assert store.place == "1 of 2"
    store.add([record(3)])
    assert not store.advance()
    assert store.shown == record(1)
    store.latest()
    assert store.shown == record(3)


def test_steps_stop_at_both_ends() -> None:
    store = SampleStore()
    store.add([record(1), record(2)])
    store.advance()
    for _ in range(5):
        store.step(-1)
    assert store.shown == record(1)
    for _ in range(5):
        store.step(1)
    assert store.shown == record(2)


def test_a_record_told_twice_is_listed_once_and_older_ones_go_in_front() -> None:
    store = SampleStore()
    store.add([record(5)])
    store.add([record(4), record(5)], older=True)
    assert store.listed() == [record(4), record(5)]


def test_only_so_many_records_are_kept() -> None:
    store = SampleStore()
    store.add(record(n) for n in range(KEEP_RECORDS + 20))
    assert len(store.listed()) == KEEP_RECORDS
    assert store.listed()[0] == record(20)


def test_flagged_only_lists_what_needs_a_look() -> None:
    store = SampleStore()
    bad = record(2, state=AnswerState.NO_REASONING, reasoning=None)
    odd = record(4, flags={"repeats": True})
    store.add([record(1), bad, record(3), odd, record(5)])
    store.advance()
    assert store.toggle_flagged()
    assert store.listed() == [bad, odd]
    assert store.shown == odd
    assert not store.toggle_flagged()


def test_a_random_record_is_shown_beside_the_list() -> None:
    store = SampleStore()
    store.add([record(1), record(2)])
    store.show_random(record(900))
    assert (store.shown, store.place) == (record(900), "random")
    store.add([record(3)])
    assert not store.advance()
    store.step(-1)
    assert store.shown == record(3)

from collections import Counter

from scenarios import EMPTY, HEALTHY, LOST

from eagle3_console.actions import ACTIONS, available, bindings, markdown_table
from eagle3_console.screens.help import HelpScreen
from eagle3_console.widgets.key_footer import KeyFooter


def test_ids_and_keys_are_unique() -> None:
    assert max(Counter(action.id for action in ACTIONS).values()) == 1
    keys = Counter(key for action in ACTIONS for key in action.keys.split(","))
    assert max(keys.values()) == 1
    footers = Counter(action.footer for action in ACTIONS if action.footer)
    assert max(footers.values()) == 1


def test_no_key_that_terminals_swallow() -> None:
    for action in ACTIONS:
        for key in action.keys.split(","):
            assert not key.startswith(("alt+", "f1", "ctrl+m", "ctrl+h", "ctrl+i", "ctrl+j"))


def test_every_action_is_bound_under_its_id() -> None:
    assert [binding.id for binding in bindings()] == [action.id for action in ACTIONS]


def test_every_action_is_in_the_help_and_in_the_readme_table() -> None:
    page = HelpScreen(available()).page().plain
    table = markdown_table()
    for action in ACTIONS:
        assert f"  {action.key_names:<9}{action.help}" in page
        assert f" | {action.label} | {action.help} |\n" in table
        for key in action.key_names.split(" "):
            assert f"`{key}`" in table
    assert len(table.splitlines()) == len(ACTIONS) + 2


def test_read_only_leaves_out_all_that_changes_the_run() -> None:
    left = {action.id for action in ACTIONS} - {action.id for action in available(read_only=True)}
    assert left == {"start", "drain", "kill", "restart", "kill_hard", "concurrency"}


def test_an_action_says_why_it_cannot_be_done() -> None:
    when = {action.id: action.when for action in ACTIONS}
    assert when["start"](HEALTHY) == "the run goes on already (pid 41233)"
    assert when["start"](EMPTY) == ""
    assert when["kill"](EMPTY) == "nothing is running"
    assert when["kill"](HEALTHY) == ""
    for name in ("start", "drain", "kill", "restart", "kill_hard", "random"):
        assert when[name](None) == "not connected to the host"
    for name in ("drain", "kill", "restart", "kill_hard"):
        assert when[name](LOST) == "not connected to the host"


def test_the_footer_names_only_what_it_has() -> None:
    footer = KeyFooter(available(read_only=True), read_only=True, widget_id="footer")
    assert footer._actions == [
        action for action in ACTIONS if action.footer and not action.dangerous
    ]

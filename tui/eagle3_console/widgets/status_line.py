"""Who, where and how: host, link, run, process, server, and where all samples are."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from eagle3_console import format as fmt
from eagle3_console import words
from eagle3_console.words import TONES, Word
from eagle3_core.monitor.snapshot import LinkState, Progress, Server, Snapshot
from eagle3_core.text import printable

GAP = "   "


class StatusLine(Widget):
    """Two lines, three on a narrow terminal; redrawn only when its words change."""

    def __init__(self, widget_id: str) -> None:
        super().__init__(id=widget_id)
        self._snapshot: Snapshot | None = None
        self._now = 0.0
        self._frozen_since: float | None = None
        self._shown: Content | None = None

    def show(self, snapshot: Snapshot, now: float, frozen_since: float | None) -> None:
        """Take a snapshot in; ``frozen_since`` is when the picture was frozen, if it is."""
        self._snapshot, self._now, self._frozen_since = snapshot, now, frozen_since
        if self._shown is None or not self._words().is_same(self._shown):
            self.refresh()

    @property
    def text(self) -> str:
        return self._words().plain

    def render(self) -> Content:
        self._shown = self._words()
        return self._shown

    def _words(self) -> Content:
        if self._snapshot is None:
            return Content.styled("Connecting …", "$text-muted")
        width = self.size.width
        rows = self._narrow(width) if width < 100 else self._broad(width)
        return Content("\n").join(rows)

    def _broad(self, width: int) -> list[Content]:
        age = self._age()
        state = Content(GAP).join([self._host(), *self._states()])
        room = width - age.cell_length - state.cell_length - 2 * len(GAP)
        upper = [state, self._run(room)]
        snapshot = self._snapshot
        assert snapshot is not None
        identity = self._identity(snapshot.progress)
        room = width - identity.cell_length - len(GAP)
        return [
            _spread(Content(GAP).join(upper), age, width),
            _spread(self._server(room), identity, width),
        ]

    def _narrow(self, width: int) -> list[Content]:
        snapshot = self._snapshot
        assert snapshot is not None
        age = self._age()
        state = Content(GAP).join([self._host(), *self._states()])
        server = self._server(width // 2)
        run = self._run(width - server.cell_length - len(GAP))
        return [
            _spread(state, age, width),
            _spread(run, server, width),
            self._identity(snapshot.progress),
        ]

    def _host(self) -> Content:
        assert self._snapshot is not None
        host = fmt.middle(printable(self._snapshot.host), 30)
        return Content.styled(host, "bold $foreground")

    def _run(self, room: int) -> Content:
        assert self._snapshot is not None
        return Content.styled(fmt.middle(printable(self._snapshot.run), room), "$text-muted")

    def _states(self) -> list[Content]:
        snapshot = self._snapshot
        assert snapshot is not None
        process = snapshot.process
        link = _styled(words.link_word(snapshot.link, self._now))
        if snapshot.link.state in (LinkState.CONNECTING, LinkState.FAILED) and not process.pid:
            return [link]
        word = words.process_word(process, snapshot.progress.phase)
        if snapshot.link.state is not LinkState.CONNECTED:
            word = Word(word.glyph, f"was {word.word}", "dim")
        state = _styled(word)
        pid = f" pid {process.pid}" if process.pid is not None and process.alive else ""
        return [link, Content.assemble(state, (pid, "$text-muted"))]

    def _age(self) -> Content:
        assert self._snapshot is not None
        if self._frozen_since is not None:
            held = fmt.duration(self._now - self._frozen_since)
            return Content.styled(f"‖ frozen for {held} · p to go on", "bold $text-warning")
        age = words.age_words(self._snapshot, self._now)
        if age == "live":
            return Content.styled(age, "$text-muted")
        return Content.styled(f"data {age}" if "old" in age else age, "bold $text-warning")

    def _server(self, room: int) -> Content:
        assert self._snapshot is not None
        for text in server_words(self._snapshot.server):
            if len(text) <= room:
                return Content.styled(text, "$text-muted")
        return Content("")

    def _identity(self, progress: Progress) -> Content:
        """Where all samples are: the parts always add up to the whole."""
        parts = [
            (progress.done, "done", "$foreground"),
            (progress.kept, "kept", "$text-warning" if progress.kept else "$text-muted"),
            (progress.failed, "failed", "$text-error" if progress.failed else "$text-muted"),
            (progress.in_flight, "in flight", "$foreground"),
            (progress.pending, "pending", "$text-muted"),
        ]
        if not progress.samples:
            return Content.styled("no samples counted yet", "$text-muted")
        pieces: list[Content | tuple[str, str]] = []
        for number, (value, name, style) in enumerate(parts):
            pieces += [(" + " if number else "", "$text-muted"), (f"{value:,}", style)]
            pieces.append((f" {name}", "$text-muted"))
        pieces += [(" = ", "$text-muted"), (f"{progress.samples:,}", "$foreground")]
        return Content.assemble(*pieces)


def server_words(server: Server) -> list[str]:
    """The server's own word, from long to short."""
    if server.error:
        error = printable(server.error)
        return [f"server: {error}", f"server: {fmt.middle(error, 24)}", "server: error"]
    if server.running is None:
        return ["server says nothing yet", "server –"]
    running, waiting = server.running, server.waiting or 0
    kv = "" if server.kv_cache is None else f" · KV cache {fmt.share(server.kv_cache)}"
    long = f"server {running:,} running · {waiting:,} waiting{kv}"
    kv = kv.replace(" cache", "")
    middle = f"server {running:,} run · {waiting:,} wait"
    return [long, long.replace("KV cache", "KV"), middle + kv, middle]


def _styled(word: Word) -> Content:
    return Content.styled(str(word), TONES[word.tone])


def _spread(left: Content, right: Content, width: int) -> Content:
    """``left`` and ``right`` at the two ends of a line; the left one gives way."""
    room = width - right.cell_length - 1
    if left.cell_length > room:
        left = left.truncate(max(0, room), ellipsis=True)
    gap = max(1, width - left.cell_length - right.cell_length)
    return left + " " * gap + right

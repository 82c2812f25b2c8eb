"""A clock that stands still until a test moves it."""


class ManualClock:
    """Both clocks, moved by hand."""

    def __init__(self, now: int = 1_800_000_000_000) -> None:
        self.wall = now
        self.steady = 1_000.0

    def now(self) -> int:
        return self.wall

    def monotonic(self) -> float:
        return self.steady

    def advance(self, seconds: float) -> None:
        """Let time pass on both clocks."""
        self.wall += round(seconds * 1_000)
        self.steady += seconds

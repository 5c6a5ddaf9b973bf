"""Raw facts of a run made into what a screen shows."""

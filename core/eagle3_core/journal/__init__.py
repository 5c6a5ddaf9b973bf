"""The append-only files of a run and everything that reads them."""

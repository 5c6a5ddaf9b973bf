"""Questions to a live server, finished answers to the journal."""

"""The terminal console of eagle3-console."""

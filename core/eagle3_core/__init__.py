"""The generation core of eagle3-console: samples in, finished answers on disk."""

__version__ = "0.1.0"

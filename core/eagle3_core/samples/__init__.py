"""Prompt sets in the field's formats, read into samples with stable keys."""

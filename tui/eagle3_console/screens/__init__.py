"""Screens: one file each."""

"""Scorers: one file each, each the rule of one benchmark or judge."""

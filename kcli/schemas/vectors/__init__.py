"""Helps to implement messages in other programs: vectors, templates, diagrams, exported definitions."""

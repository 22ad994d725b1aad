"""Messages for those who implement them elsewhere: vectors, templates, diagrams, exports."""

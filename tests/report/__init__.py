"""The report: its questions, its tables, its verdict, and the page in a real browser."""

"""The report on captures as one HTML page: its questions, the tables that answer them, and the page itself."""

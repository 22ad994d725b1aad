"""A metadata log over time: replay, growth, history."""

"""Exports exchanges as OpenTelemetry spans: those of clients, and those of brokers if their ends were captured too."""

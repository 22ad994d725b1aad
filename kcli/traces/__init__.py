"""Exchanges as OpenTelemetry spans: of clients, and of brokers where these were captured, too."""

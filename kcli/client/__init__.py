"""Connections to brokers: TLS and SASL, version negotiation, leader discovery, producing and consuming."""

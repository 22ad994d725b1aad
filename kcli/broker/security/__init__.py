"""Security of the embedded broker: TLS, SASL, ACLs, quotas."""

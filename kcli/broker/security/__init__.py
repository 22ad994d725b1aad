"""Who may connect to the embedded broker, as whom, and what they may do: TLS, SASL, ACLs, quotas."""

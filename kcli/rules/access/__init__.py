"""Rules about logins, rights, certificates and listeners."""

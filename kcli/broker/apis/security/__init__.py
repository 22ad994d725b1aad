"""Logins, credentials, ACLs and quotas."""

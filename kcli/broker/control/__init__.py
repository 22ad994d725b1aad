"""Control of an embedded broker by tests: see requests, wait for them, answer them, write and read."""

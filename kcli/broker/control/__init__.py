"""Control of an embedded broker by tests: observe, await and answer requests, append and read records."""

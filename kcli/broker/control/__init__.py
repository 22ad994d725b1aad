"""What a test does with an embedded broker: sees requests, waits for them, answers them itself, writes and reads."""

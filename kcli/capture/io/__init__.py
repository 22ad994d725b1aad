"""Files of captures: recognized, read, written."""

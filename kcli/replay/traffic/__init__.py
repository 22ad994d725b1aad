"""All traffic of captures run again: requests rewritten for a live cluster, answers laid beside the captured ones."""

"""Text to syntax: reading and writing graph files, with exact places. Above: workflow. Below: nothing."""

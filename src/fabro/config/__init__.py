"""What the surroundings say: paths and variables. Above: everything that is configured. Below: errors."""

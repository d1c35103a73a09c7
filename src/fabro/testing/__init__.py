"""Stand-ins for tests of workflows and of the system itself, shipped to users. Above: tests. Below: every port."""

"""Everything a caller can do, once. Above: the server and in-process callers. Below: dispatch, stores."""

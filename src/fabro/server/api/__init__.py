"""The REST API, one router for each kind of thing. Above: the app. Below: operations.

A handler reads the request, calls one operation and writes its result; rules are not its business.
"""

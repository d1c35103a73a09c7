# As much of google-re2 as is used here; the package has no types of its own.
class error(Exception): ...

class Options:
    log_errors: bool
    max_mem: int

class _Regexp:
    def search(self, text: str) -> object | None: ...

def compile(pattern: str, options: Options | None = None) -> _Regexp: ...

#!/usr/bin/env bash
# Makes .venv ready: the locked packages, the local model, and this project in place.
# usage: scripts/setup.sh [--tests]
#   --tests  also what the checks need: the locked tools, and more packages of debian-packages.txt
# It writes only inside this folder (.venv and .cache), but for Debian packages, which it names before it installs
# them. When nothing has changed since the last time, it does nothing and needs no network. Interrupt it and start it
# again at any time: the stamp that says "ready" is written last.
set -euo pipefail
unset CDPATH
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
root=$(pwd -P)
venv=$root/.venv
stamp=$venv/.ready
with_tests=$venv/.with-tests # once the tools are there, a set-up without --tests keeps them
making=$root/.cache/making-venv # there while .venv and its installer are being made
packages=scripts/debian-packages.txt

say() { printf 'set-up: %s\n' "$*"; }
fail() { printf 'set-up: %s\n' "$@" >&2; exit 1; }

quietly() { # COMMAND...: run it, and show what it printed only when it failed
  local output
  output=$("$@" 2>&1 </dev/null) || { printf '%s\n' "$output" >&2; return 1; }
}

on_debian() { command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; }

install_debian() { # PACKAGE...: install them when that is possible here, else say how
  on_debian || fail "missing: $*. Install what your system calls these, then run this again."
  [ "$(id -u)" = 0 ] || fail "missing Debian packages. Run this, then start again:" "  sudo apt-get install $*"
  say "installing Debian packages, outside this folder: $*"
  quietly apt-get update -qq || say "apt-get update failed; trying with the lists that are here"
  quietly env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" ||
    fail "apt-get could not install: $*"
}

missing_debian() { # run | tests: those of the list's packages for that which are not installed, on one line
  local name purpose
  on_debian || return 0
  while read -r name purpose _; do
    case $name in '' | '#'*) continue ;; esac
    [ "$purpose" = "$1" ] || continue
    case $(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) in
      installed) ;;
      *) printf '%s ' "$name" ;;
    esac
  done <"$packages"
}

find_python() { # the interpreter to build on: the base of the first Python of 3.11 or later
  local candidate
  for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do
    if "$candidate" -ISc '
import sys
sys.version_info >= (3, 11) or sys.exit(1)
print(sys._base_executable)' 2>/dev/null </dev/null; then return; fi
  done
  fail "no Python of 3.11 or later is on the PATH. On Debian: apt-get install python3 python3-venv"
}

venv_works() { # whether .venv is whole, runs, is Python of 3.11 or later, was made for this folder, and has pip
  [ ! -e "$making" ] || return 1
  "$venv/bin/python" -ISc 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || return 1
  if grep -q '^command = ' "$venv/pyvenv.cfg"; then grep -q "^command = .* $venv\$" "$venv/pyvenv.cfg" || return 1; fi
  "$venv/bin/python" -Ic 'import pip' 2>/dev/null
}

make_venv() {
  local python
  python=$(find_python)
  "$python" -Ic 'import ensurepip, venv' 2>/dev/null ||
    install_debian "python$("$python" -ISc 'import sys; print("%d.%d" % sys.version_info[:2])')-venv"
  say "making .venv with $("$python" --version), $python"
  touch "$making"
  quietly "$python" -Im venv --clear "$venv" || fail "$python could not make a virtual environment in .venv"
}

pip_install() { # ARGUMENTS...: pip into .venv, whatever the user's settings say about where to install
  env -u PIP_TARGET -u PIP_PREFIX -u PIP_ROOT -u PIP_USER -u PIP_DRY_RUN -u PYTHONPATH PIP_NO_INPUT=1 "$@" \
    --quiet --disable-pip-version-check --no-cache-dir --require-hashes --no-deps -r requirements/bootstrap.txt
}

install_uv() { # the locked installer, first with the user's settings for pip and, if those do not work, without
  local locked
  locked=$(sed -n 's/^uv==\([^ ]*\).*/\1/p' requirements/bootstrap.txt)
  case $("$venv/bin/uv" --version 2>/dev/null) in "uv $locked" | "uv $locked "*) return ;; esac
  say "installing the locked uv with pip"
  touch "$making"
  if ! "$venv/bin/python" -Im pip config list 2>/dev/null | grep -Eq '^[^=]*\.(target|prefix|root)='; then
    pip_install "$venv/bin/python" -Im pip install >/dev/null 2>&1 && [ -x "$venv/bin/uv" ] && return
  fi
  say "pip does not work here with the settings of this machine; trying without them"
  quietly pip_install env PIP_CONFIG_FILE=/dev/null "$venv/bin/python" -Im pip --isolated install && [ -x "$venv/bin/uv" ] ||
    fail "pip could not install requirements/bootstrap.txt; is there a network?"
}

uv_pip() { # COMMAND ARGUMENTS...
  local command=$1
  shift
  # The system's certificates, where it has any: behind some company's proxy no others are of use.
  [ ! -s /etc/ssl/certs/ca-certificates.crt ] || export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-true}"
  quietly env -u UV_REQUIRE_HASHES -u UV_TARGET -u UV_PREFIX -u PYTHONPATH UV_CACHE_DIR="$root/.cache/uv" \
    "$venv/bin/uv" pip "$command" --quiet --no-progress --python "$venv/bin/python" "$@"
}

fingerprint() { # of everything that decides what .venv must hold
  {
    cat pyproject.toml requirements/*.txt scripts/setup.sh
    [ -e "$with_tests" ] && echo tests
    echo "$venv"
    "$venv/bin/python" -ISc 'import sys; print(sys.version)'
  } 2>/dev/null | git hash-object --stdin
}

one_at_a_time() { # wait for another set-up of this folder, where the system has flock
  if command -v flock >/dev/null; then
    exec 9>"$root/.cache/set-up.lock"
    flock 9
  fi
}

[ $# = 0 ] || [ "$*" = --tests ] || fail "usage: scripts/setup.sh [--tests]"
[ "$(uname -s)" = Linux ] || [ "$(uname -s)" = Darwin ] || fail "Fabro runs on Linux and macOS, not on $(uname -s)."
command -v git >/dev/null || fail "git is missing. On Debian: apt-get install git"
mkdir -p "$root/.cache"
one_at_a_time
missing=$(missing_debian run)
if [ -n "$missing" ] && [ "$(id -u)" != 0 ]; then
  say "the local model needs a Debian package. To have it: sudo apt-get install $missing"
elif [ -n "$missing" ]; then
  # shellcheck disable=SC2086  # a list of words
  install_debian $missing
fi
if [ $# = 1 ]; then
  missing=$(missing_debian tests)
  # shellcheck disable=SC2086  # a list of words
  [ -z "$missing" ] || install_debian $missing
  [ ! -d "$venv" ] || [ -e "$with_tests" ] || touch "$with_tests"
fi
if [ -e "$stamp" ] && [ "$(cat "$stamp")" = "$(fingerprint)" ]; then exit 0; fi

say "writing only to .venv and .cache in $root"
rm -f "$stamp"
venv_works || make_venv
[ $# = 0 ] || touch "$with_tests"
install_uv
rm -f "$making"
locks=(requirements/bootstrap.txt requirements/run.txt requirements/local.txt)
[ ! -e "$with_tests" ] || locks=(requirements/bootstrap.txt requirements/dev.txt requirements/local.txt)
say "installing the locked packages: ${locks[*]}"
uv_pip sync --offline --compile-bytecode --require-hashes "${locks[@]}" 2>/dev/null ||
  uv_pip sync --compile-bytecode --require-hashes "${locks[@]}" ||
  fail "uv could not install the locked packages; is there a network?"
say "installing this project in place"
uv_pip install --offline --no-deps --no-build-isolation --editable . || fail "this project could not be installed"
fingerprint >"$stamp"
say "ready"

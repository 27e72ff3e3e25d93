# Sourced by tools/demo and tools/check: packages, configure, build. Bash. Sets `root`, the checkout's directory.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
jobs=${BERTH_JOBS:-$(nproc 2>/dev/null || echo 2)}
log_dir=$root/build/log

# One short line on what happens now.
say() { printf '== %s\n' "$*"; }

# Ends the script with one sentence.
die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# The packages of the groups given, one a line.
packages_of() {
  local group
  for group in "$@"; do
    awk -v g="$group" '$1 == g { print $2 }' "$root/tools/lib/packages"
  done
}

# Those of the packages given that are not installed.
missing_of() {
  local package
  for package in "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || echo "$package"
  done
}

# Explains the end of a log: prints its last lines, then one sentence that names the likely cause.
die_with_log() {
  local what=$1 log=$2
  tail -n 25 "$log" >&2 || true
  if grep -q 'No space left on device' "$log"; then
    die "$what failed: the disk is full; free some space (a build needs 2 GB) and run it again."
  elif grep -Eq 'Temporary failure resolving|Could not connect|Failed to fetch|Unable to fetch|Connection timed out' "$log"; then
    die "$what failed: the package mirror cannot be reached; check the network (or the proxy in /etc/apt) and run it again."
  elif grep -Eq 'Unable to locate package|has no installation candidate' "$log"; then
    die "$what failed: this release does not carry every package of tools/lib/packages; berth is built on Debian 12."
  fi
  die "$what failed; the lines above are the end of $log."
}

# Installs what is missing of the groups given. Does nothing, and needs no root, when all is there.
install_packages() {
  if [[ ${BERTH_SKIP_INSTALL:-} == 1 ]]; then
    say "packages: not looked at (BERTH_SKIP_INSTALL=1)"
    return
  fi
  local wanted missing
  mapfile -t wanted < <(packages_of "$@")
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
    die "this is no Debian or Ubuntu: install the equivalents of ${wanted[*]} and run it again with BERTH_SKIP_INSTALL=1."
  mapfile -t missing < <(missing_of "${wanted[@]}")
  if ((${#missing[@]} == 0)); then
    say "packages: all ${#wanted[@]} are installed"
    return
  fi
  local as_root=()
  if ((EUID != 0)); then
    # -n: a password prompt would wait for ever where nobody looks on.
    command -v sudo >/dev/null && sudo -n true 2>/dev/null ||
      die "${#missing[@]} packages are missing and this user may not install them; as root: apt-get install ${missing[*]}"
    as_root=(sudo -n env DEBIAN_FRONTEND=noninteractive)
  fi
  local log=$log_dir/apt.log options=(-y -q -o DPkg::Lock::Timeout=120 -o Acquire::Retries=2)
  say "packages: installing ${missing[*]}"
  "${as_root[@]}" apt-get "${options[@]}" update >"$log" 2>&1 </dev/null || die_with_log "apt-get update" "$log"
  "${as_root[@]}" apt-get "${options[@]}" install --no-install-recommends "${missing[@]}" >>"$log" 2>&1 </dev/null ||
    die_with_log "apt-get install" "$log"
  mapfile -t missing < <(missing_of "${missing[@]}")
  ((${#missing[@]} == 0)) || die "apt-get installed everything but ${missing[*]}; see $log."
}

# What every step relies on: a place to write, and some space.
prepare_build_directory() {
  mkdir -p "$log_dir" 2>/dev/null && [[ -w $log_dir ]] ||
    die "cannot write below $root/build; make the checkout writable or clone it elsewhere."
  local free_kb
  free_kb=$(df -Pk "$root/build" | awk 'NR == 2 { print $4 }')
  ((free_kb > 300 * 1024)) ||
    die "only $((free_kb / 1024)) MB are free below $root/build; a build needs about 2 GB."
}

# build_preset PRESET [TARGET...]: configures and builds; without targets, everything. Extra cmake arguments come
# from the array `configure_arguments`.
configure_arguments=()
build_preset() {
  local preset=$1 log=$log_dir/$1-configure.log start=$SECONDS tool
  shift
  for tool in cmake ninja; do
    command -v $tool >/dev/null || die "$tool is missing although its package is installed or was skipped; see tools/lib/packages."
  done
  local compiler=g++
  [[ $preset == clang ]] && compiler=clang++
  command -v $compiler >/dev/null || die "the compiler $compiler is missing; install it (package ${compiler/clang++/clang}) and run it again."
  say "configure: build/$preset"
  (cd "$root" && cmake --preset "$preset" "${configure_arguments[@]}") >"$log" 2>&1 </dev/null ||
    die_with_log "configuring build/$preset" "$log"
  say "build: build/$preset${*:+ ($*)}"
  log=$log_dir/$preset-build.log
  local targets=()
  (($# == 0)) || targets=(--target "$@")
  if [[ -t 1 ]]; then
    (cd "$root" && cmake --build --preset "$preset" -j "$jobs" "${targets[@]}") </dev/null 2>&1 | tee "$log" ||
      die_with_log "building build/$preset" "$log"
  else
    (cd "$root" && cmake --build --preset "$preset" -j "$jobs" "${targets[@]}") >"$log" 2>&1 </dev/null || {
      # The first errors say more than the last lines of a parallel build.
      grep -n -m 10 -E 'error:|undefined reference|FAILED:' "$log" >&2 || true
      die_with_log "building build/$preset" "$log"
    }
  fi
  say "build: done in $((SECONDS - start)) s"
}

# Sourced by tools/check: clang-format and clang-tidy over the tracked sources. Needs setup.sh.

# The tracked (or new and not ignored) files that match the patterns, one a line, relative to the checkout.
sources() {
  if git -C "$root" rev-parse --git-dir >/dev/null 2>&1; then
    git -C "$root" ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
      [[ ! -e $root/$file ]] || echo "$file"
    done
  else
    (cd "$root" && for pattern in "$@"; do find . -path ./build -prune -o -name "$pattern" -printf '%P\n'; done)
  fi
}

# Says which files clang-format would change; fails if there are any.
check_format() {
  local files bad
  mapfile -t files < <(sources '*.hpp' '*.cpp')
  say "format: ${#files[@]} files"
  bad=$(cd "$root" && printf '%s\0' "${files[@]}" |
    xargs -0 -n 8 -P "$jobs" clang-format --dry-run -Werror --ferror-limit=1 2>&1 | sed -n 's/^\([^:]*\):[0-9].*error:.*/\1/p' |
    sort -u) || true
  [[ -n $bad ]] || return 0
  printf '%s\n' "$bad" | sed 's/^/  not formatted: /'
  say "format: repair with: clang-format -i $(tr '\n' ' ' <<<"$bad")"
  return 1
}

# The translation units that the work tree and the last commits changed, most recent first, then those that include a
# changed header.
changed_units() {
  local changed headers
  changed=$(cd "$root" && {
    git diff --name-only HEAD
    git ls-files --others --exclude-standard
    git log -n 20 --name-only --format=
  } 2>/dev/null | grep -E '\.(cpp|hpp)$' | awk '!seen[$0]++') || true
  grep '\.cpp$' <<<"$changed" || true
  headers=$(grep '\.hpp$' <<<"$changed") || return 0
  (cd "$root" && sources '*.cpp' | xargs grep -lFf <(sed 's/.*/#include "&"/' <<<"$headers")) || true
}

# Makes a compilation database that clang understands: without g++'s precompiled headers.
tidy_database() {
  local build=$1 to=$1/tidy
  mkdir -p "$to/ok"
  local pch
  pch=$(find "$build" -name cmake_pch.hxx | head -n 1)
  [[ -z $pch ]] || cp "$pch" "$to/prefix.hpp"
  sed -E "s#-include [^ ]*/cmake_pch\.hxx#-include $to/prefix.hpp#g; s# -(Winvalid-pch|fpch-preprocess)# #g" \
    "$build/compile_commands.json" >"$to/compile_commands.json"
}

# tidy_one FILE: one unit; clean results are remembered by the hash of everything they depend on.
tidy_one() {
  local file=$1 key
  if ((EPOCHSECONDS > TIDY_END)); then
    echo skipped >>"$TIDY_DIR/skipped"
    return 0
  fi
  key=$(cat "$TIDY_DIR/common" "$file" | sha256sum | cut -c 1-40)
  [[ -e $TIDY_DIR/ok/$key ]] && return 0
  local out
  if out=$(clang-tidy --quiet -p "$TIDY_DIR" "$file" 2>&1); then
    : >"$TIDY_DIR/ok/$key"
  else
    # A header's finding comes with every file that includes it: gathered, and shown once.
    { grep -E '(error|warning): ' <<<"$out" || echo "$file: clang-tidy failed: $(tail -n 1 <<<"$out")"; } >>"$TIDY_DIR/findings"
    echo "$file" >>"$TIDY_DIR/failed"
  fi
}

# lint PRESET SECONDS FILE...: clang-tidy until the time is up; sets `lint_clean` and `lint_failed`.
lint() {
  local build=$root/build/$1 seconds=$2 known file units=()
  shift 2
  lint_clean=0 lint_failed=0
  tidy_database "$build"
  known=$(cat "$build/tidy/compile_commands.json")
  # Only what the build compiles has a command line to be linted with.
  while read -r file; do
    [[ -z $file || $known != *"\"$root/$file\""* ]] || units+=("$file")
  done < <(printf '%s\n' "$@" | awk '!seen[$0]++')
  say "lint: ${#units[@]} files, at most $seconds s"
  ((${#units[@]} > 0)) || return 0
  rm -f "$build/tidy/failed" "$build/tidy/skipped" "$build/tidy/findings"
  (cd "$root" && { clang-tidy --version && cat .clang-tidy && sources '*.hpp' | xargs sha256sum; } >"$build/tidy/common")
  export TIDY_DIR=$build/tidy TIDY_END=$((EPOCHSECONDS + seconds))
  export -f tidy_one
  # shellcheck disable=SC2016 # expanded by the inner shell
  (cd "$root" && printf '%s\n' "${units[@]}" | xargs -n 1 -P "$jobs" bash -c 'tidy_one "$1"' tidy) || true
  [[ ! -e $build/tidy/skipped ]] || say "lint: time is up, $(wc -l <"$build/tidy/skipped") files not looked at (tools/check --lint looks at all)"
  [[ ! -e $build/tidy/findings ]] || sort -u "$build/tidy/findings" | sed "s#^$root/##; s#^#  #"
  [[ ! -e $build/tidy/failed ]] || lint_failed=$(wc -l <"$build/tidy/failed")
  lint_clean=$((${#units[@]} - lint_failed))
  ((lint_failed == 0))
}

# Sourced by scripts that need a helper process (a store, a protocol double) for the length of a run: started on
# loopback, ended by pid when the script ends, however it ends. Needs setup.sh.
service_pids=()

# start_service NAME COMMAND...: in the background, output to build/log/NAME.log. Sets `service_pid`.
start_service() {
  local name=$1
  shift
  "$@" >"$log_dir/$name.log" 2>&1 </dev/null &
  service_pid=$!
  service_pids+=("$service_pid")
}

# wait_until SECONDS COMMAND...: polls until the command succeeds; fails when the time is up.
wait_until() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || return 1
    sleep 0.1
  done
}

# stop_service PID [SECONDS]: asks it to end, and kills it when it has not within the time (default 10).
stop_service() {
  local pid=$1 seconds=${2:-10} i kept=()
  kill -TERM "$pid" 2>/dev/null || true
  local status=0
  if ! wait_until "$seconds" service_ended "$pid"; then
    kill -KILL "$pid" 2>/dev/null || true
    status=1
  fi
  wait "$pid" 2>/dev/null || true
  for i in "${service_pids[@]}"; do
    [[ $i == "$pid" ]] || kept+=("$i")
  done
  service_pids=("${kept[@]}")
  return $status
}

# Ended, or a zombie that only waits for `wait`.
service_ended() { [[ ! -e /proc/$1/status ]] || grep -q "^State:.*Z" "/proc/$1/status" 2>/dev/null; }

# For a trap on EXIT.
stop_services() {
  local pid
  for pid in "${service_pids[@]}"; do
    stop_service "$pid" || true
  done
}

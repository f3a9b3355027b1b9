# shellcheck shell=bash disable=SC2034
# Shared by the scripts beside it. Source it; it does nothing by itself but
# change to the top of the checkout.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

# Where a Berth started by `make up` lives. Override them to run a second one.
BERTH_DATA_DIR=${BERTH_DATA_DIR:-/var/lib/berth}
BERTH_RUN_DIR=${BERTH_RUN_DIR:-/run/berth}
BERTH_LOG_DIR=${BERTH_LOG_DIR:-/var/log/berth}
# The address that the data plane listens on; its port is found.
BERTH_LISTEN=${BERTH_LISTEN:-127.0.0.1}
# The command line reads this one.
export BERTH_SOCKET=${BERTH_SOCKET:-$BERTH_RUN_DIR/berth.sock}
DOCKER_SOCKET=${DOCKER_SOCKET:-/var/run/docker.sock}

# Everything that is built to help build is cached here, outside the checkout.
BERTH_CACHE_DIR=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/berth

step() { printf '%s: %s\n' "$(basename "$0")" "$*"; }
die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# alive PIDFILE COMMAND [ARGUMENT] says whether the process that wrote PIDFILE
# still runs and still is COMMAND, called with ARGUMENT among others. A pid that
# now belongs to another program is not alive.
alive() {
	local pid
	pid=$(cat "$1" 2>/dev/null) || return 1
	[[ $pid =~ ^[0-9]+$ ]] || return 1
	[ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$2" ] || return 1
	[ $# -lt 3 ] || has_argument "$pid" "$3" || return 1
	! ended "$pid"
}

# ended PID says whether a process is gone. A zombie is; only its parent has not
# looked yet.
ended() { ! grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status" 2>/dev/null; }

# wait_until SECONDS COMMAND… repeats the command until it succeeds.
wait_until() {
	local deadline=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $deadline ] || return 1
		sleep 0.1
	done
}

# start_daemon LOG COMMAND… starts a process that outlives the script: in a
# session of its own, with no descriptor of ours but the log, so that whoever
# reads our output sees its end. The process id is left in STARTED_PID.
start_daemon() {
	local log=$1
	shift
	mkdir -p "$(dirname "$log")"
	(
		for fd in /proc/self/fd/*; do
			fd=${fd##*/}
			if [ "$fd" -gt 2 ]; then eval "exec $fd>&-"; fi
		done
		exec setsid "$@" </dev/null >>"$log" 2>&1
	) &
	STARTED_PID=$!
	disown
}

# has_argument PID ARGUMENT says whether a process was called with an argument.
has_argument() { tr '\0' '\n' <"/proc/$1/cmdline" 2>/dev/null | grep -qxF -- "$2"; }

# stop_process PIDFILE COMMAND [ARGUMENT] asks the process to end and kills it if
# it does not. A pid that has become another program's is left alone.
stop_process() {
	local pid
	alive "$@" || return 0
	pid=$(cat "$1")
	kill -TERM "$pid" 2>/dev/null || true
	if ! wait_until 40 not alive "$@"; then
		step "$2 ($pid) takes no notice of SIGTERM; killing it"
		kill -KILL "$pid" 2>/dev/null || true
		wait_until 10 not alive "$@" || return 1
	fi
	rm -f "$1"
}

not() { ! "$@"; }

readonly SERVER=("$BERTH_RUN_DIR/berthd.pid" berthd "$BERTH_DATA_DIR")

# server_alive finds a control plane of this Berth also when its pid file was
# lost or is stale, and then writes the file again.
server_alive() {
	local pid
	alive "${SERVER[@]}" && return 0
	pid=$(processes_of berthd | head -1)
	[ -n "$pid" ] || return 1
	mkdir -p "$BERTH_RUN_DIR"
	echo "$pid" >"${SERVER[0]}"
	alive "${SERVER[@]}"
}
stop_server() { stop_process "${SERVER[@]}" || die "the control plane does not stop; its process is $(cat "${SERVER[0]}")"; }

# processes_of COMMAND lists the processes of this Berth that are COMMAND: they
# are called with a path in our data or run directory, whoever started them.
processes_of() {
	local dir pid
	for dir in /proc/[0-9]*; do
		pid=${dir#/proc/}
		[ "$(cat "$dir/comm" 2>/dev/null)" = "$1" ] || continue
		if tr '\0' '\n' <"$dir/cmdline" 2>/dev/null | sed 's/^--*[a-z-]*=//' |
			grep -qE -- "^($BERTH_DATA_DIR|$BERTH_RUN_DIR)(/|\$)"; then
			echo "$pid"
		fi
	done
}

# data_plane_port is the port it serves HTTP on; nothing when it does not run.
data_plane_port() {
	local pid
	pid=$(processes_of berth-node | head -1)
	[ -n "$pid" ] || return 0
	tr '\0' '\n' <"/proc/$pid/cmdline" | sed -nE '/^--?http$/{n;p}; s/^--?http=//p' | sed 's/.*://;s/,.*//'
}

# stop_data_plane ends them; they let requests in flight finish.
stop_data_plane() {
	local pids
	pids=$(processes_of berth-node)
	[ -n "$pids" ] || return 0
	step "stopping the data plane"
	# shellcheck disable=SC2086 # one argument each
	kill -TERM $pids 2>/dev/null || true
	# shellcheck disable=SC2317 # wait_until calls it
	no_data_plane() { [ -z "$(processes_of berth-node)" ]; }
	if ! wait_until 60 no_data_plane; then
		step "the data plane takes no notice of SIGTERM; killing it"
		pids=$(processes_of berth-node)
		# shellcheck disable=SC2086
		[ -z "$pids" ] || kill -KILL $pids 2>/dev/null || true
	fi
}

# Shared by the scripts beside it. Source it; it does nothing by itself but
# change to the top of the checkout.

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Where a Berth started by `make up` lives. Override them to run a second one.
BERTH_DATA_DIR=${BERTH_DATA_DIR:-/var/lib/berth}
BERTH_RUN_DIR=${BERTH_RUN_DIR:-/run/berth}
BERTH_LOG_DIR=${BERTH_LOG_DIR:-/var/log/berth}
DOCKER_SOCKET=${DOCKER_SOCKET:-/var/run/docker.sock}

# Everything that is built to help build is cached here, outside the checkout.
BERTH_CACHE_DIR=${XDG_CACHE_HOME:-$HOME/.cache}/berth

step() { printf '%s: %s\n' "$(basename "$0")" "$*"; }
die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# alive PIDFILE COMMAND says whether the process that wrote PIDFILE still runs
# and still is COMMAND. A pid that now belongs to another program is not alive.
alive() {
	local pid
	pid=$(cat "$1" 2>/dev/null) || return 1
	[[ $pid =~ ^[0-9]+$ ]] || return 1
	[ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$2" ] || return 1
	# A zombie has ended; only its parent has not looked yet.
	! grep -q '^State:[[:space:]]*Z' "/proc/$pid/status" 2>/dev/null
}

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

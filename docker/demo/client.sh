#!/usr/bin/env bash
# The demo's client: sends COUNT datagrams to port 7 of the host and compares what
# comes back. Exit 0 when all came back.
set -euo pipefail
host=$1 count=${2:-100} good=0
ethtool -K eth0 tx off >/dev/null 2>&1 || true
exec 3<>"/dev/udp/$host/7"
# The server may still be starting: the first answer ends the wait.
for ((i = 0; ; i++)); do
	printf 'hello' >&3
	if read -r -t 1 -n 5 reply <&3 && [ "$reply" = hello ]; then break; fi
	[ "$i" -lt 30 ] || { echo "client: no answer from $host:7 in 30 s" >&2; exit 1; }
done
for ((i = 1; i <= count; i++)); do
	printf 'datagram %05d' "$i" >&3
	read -r -t 2 -n 14 reply <&3 || reply=
	# An answer to a hello of the start may still come in between.
	[ "$reply" != hello ] || read -r -t 2 -n 14 reply <&3 || reply=
	[ "$reply" != "$(printf 'datagram %05d' "$i")" ] || good=$((good + 1))
done
echo "client: $good of $count datagrams echoed by $host:7"
[ "$good" = "$count" ]

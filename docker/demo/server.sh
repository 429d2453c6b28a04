#!/usr/bin/env bash
# The demo's server: takes port 7 out of the kernel's hands and runs edemux on eth0.
set -euo pipefail
# net_af_packet sees a packet before the kernel judges it; without this rule the
# kernel would answer each datagram with "port unreachable".
nft -f - <<'RULES'
table inet edemux {
	chain in {
		type filter hook input priority 0
		udp dport 7 drop
	}
}
RULES
# GRO would join datagrams; unfinished checksums are the sender's to avoid (client.sh).
ethtool -K eth0 tx off rx off gro off >/dev/null 2>&1 || true
mkdir -p /run/edemux
exec /usr/bin/edemux run -c /usr/share/edemux/demo/echo.yaml

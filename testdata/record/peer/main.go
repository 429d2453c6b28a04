// Command peer is the other side of the recorded conversations: a small HTTP
// server, a small DNS server, and a sender of frames that need a tag stack of
// their own. record.sh starts it inside network namespaces that it made itself.
//
//	peer serve ADDR                   HTTP on ADDR:80, DNS over UDP and TCP on ADDR:53
//	peer tagged IFACE                 tagged frames from raw sockets, see tagged.go
//	peer pcapng OUT NAME=PCAP...      several captures as interfaces of one, see pcapng.go
package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "serve":
		return serve(args[1])
	case len(args) == 2 && args[0] == "tagged":
		return sendTagged(args[1])
	case len(args) > 2 && args[0] == "pcapng":
		return combine(args[1], args[2:])
	}
	return errors.New("want: serve ADDR, tagged IFACE, or pcapng OUT and NAME=PCAP for each input")
}

// serve answers until the process is killed. Both listeners of DNS are open
// before HTTP is, so a client that reaches port 80 may use port 53 as well.
func serve(addr string) error {
	udp, err := net.ListenPacket("udp", net.JoinHostPort(addr, "53"))
	if err != nil {
		return err
	}
	tcp, err := net.Listen("tcp", net.JoinHostPort(addr, "53"))
	if err != nil {
		return err
	}
	go serveDNSPackets(udp)
	go serveDNSStream(tcp)

	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "hello")
	})
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, strings.Repeat("0123456789abcde\n", 256)) // 4 KiB: some full segments
	})
	return http.ListenAndServe(net.JoinHostPort(addr, "80"), mux)
}

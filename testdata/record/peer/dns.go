package main

import (
	"encoding/binary"
	"io"
	"net"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// serveDNSPackets answers each datagram by one datagram of whatever size, so a
// long TXT answer leaves as IP fragments.
func serveDNSPackets(c net.PacketConn) {
	buf := make([]byte, 4096)
	for {
		n, from, err := c.ReadFrom(buf)
		if err != nil {
			return
		}
		if reply, err := answer(buf[:n]); err == nil {
			_, _ = c.WriteTo(reply, from)
		}
	}
}

// serveDNSStream answers queries in the length-prefixed form of DNS over TCP.
func serveDNSStream(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			for serveOne(c) == nil {
			}
		}()
	}
}

func serveOne(c net.Conn) error {
	var size [2]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return err
	}
	query := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(c, query); err != nil {
		return err
	}
	reply, err := answer(query)
	if err != nil {
		return err
	}
	_, err = c.Write(binary.BigEndian.AppendUint16(nil, uint16(len(reply))))
	if err == nil {
		_, err = c.Write(reply)
	}
	return err
}

// answer builds the reply to a query with one question. Names that begin with
// "large." get 2,400 bytes of text, more than one Ethernet frame holds.
func answer(query []byte) ([]byte, error) {
	var p dnsmessage.Parser
	h, err := p.Start(query)
	if err != nil {
		return nil, err
	}
	q, err := p.Question()
	if err != nil {
		return nil, err
	}
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{
		ID: h.ID, Response: true, Authoritative: true, RecursionDesired: h.RecursionDesired,
	})
	if err := b.StartQuestions(); err != nil {
		return nil, err
	}
	if err := b.Question(q); err != nil {
		return nil, err
	}
	if err := b.StartAnswers(); err != nil {
		return nil, err
	}
	if err := addAnswer(&b, q); err != nil {
		return nil, err
	}
	return b.Finish()
}

func addAnswer(b *dnsmessage.Builder, q dnsmessage.Question) error {
	rh := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 60}
	switch q.Type {
	case dnsmessage.TypeA:
		return b.AResource(rh, dnsmessage.AResource{A: [4]byte{203, 0, 113, 80}})
	case dnsmessage.TypeAAAA:
		a := dnsmessage.AAAAResource{}
		copy(a.AAAA[:], net.ParseIP("2001:db8::80"))
		return b.AAAAResource(rh, a)
	case dnsmessage.TypeTXT:
		text := []string{"edemux"}
		if strings.HasPrefix(q.Name.String(), "large.") {
			text = nil
			for range 12 {
				text = append(text, strings.Repeat("t", 200))
			}
		}
		return b.TXTResource(rh, dnsmessage.TXTResource{TXT: text})
	}
	return nil
}

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
)

// The block types and options of pcapng that combine writes.
const (
	blockSection   = 0x0a0d0d0a
	blockInterface = 1
	blockPacket    = 6

	optIfName = 2
)

// combine writes one little-endian pcapng section with an interface per input,
// named as the argument NAME=FILE says, and the packets of the inputs one file
// after the other. Inputs are little-endian microsecond pcap files, as tcpdump
// writes them here. Unlike mergecap it records nothing about the machine.
func combine(out string, inputs []string) error {
	w := block(nil, blockSection, []byte{0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}) // section length unknown
	var packets []byte
	for i, in := range inputs {
		name, file, ok := strings.Cut(in, "=")
		if !ok {
			return fmt.Errorf("%s: want NAME=FILE", in)
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if len(raw) < 24 || binary.LittleEndian.Uint32(raw) != 0xa1b2c3d4 {
			return fmt.Errorf("%s: not a little-endian microsecond pcap file", file)
		}
		w = block(w, blockInterface, interfaceBody(raw, name))
		if packets, err = packetBlocks(packets, raw[24:], uint32(i)); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return os.WriteFile(out, append(w, packets...), 0o644)
}

// interfaceBody takes link type and snap length from a pcap file's header.
func interfaceBody(header []byte, name string) []byte {
	le := binary.LittleEndian
	b := le.AppendUint16(nil, le.Uint16(header[20:]))
	b = le.AppendUint16(b, 0)
	b = le.AppendUint32(b, le.Uint32(header[16:]))
	b = le.AppendUint16(b, optIfName)
	b = le.AppendUint16(b, uint16(len(name)))
	b = append(b, padded([]byte(name))...)
	return le.AppendUint32(b, 0) // end of options
}

// packetBlocks appends an enhanced packet block for each pcap record.
func packetBlocks(w, records []byte, iface uint32) ([]byte, error) {
	le := binary.LittleEndian
	for len(records) > 0 {
		if len(records) < 16 || len(records)-16 < int(le.Uint32(records[8:])) {
			return nil, errors.New("truncated record")
		}
		n := le.Uint32(records[8:])
		us := uint64(le.Uint32(records))*1e6 + uint64(le.Uint32(records[4:]))
		b := le.AppendUint32(nil, iface)
		b = le.AppendUint32(b, uint32(us>>32))
		b = le.AppendUint32(b, uint32(us))
		b = append(b, records[8:16]...) // captured and original length
		b = append(b, padded(records[16:16+n])...)
		w = block(w, blockPacket, b)
		records = records[16+n:]
	}
	return w, nil
}

// block appends one block: type, length, body, length again.
func block(w []byte, kind uint32, body []byte) []byte {
	le := binary.LittleEndian
	size := uint32(len(body) + 12)
	w = le.AppendUint32(w, kind)
	w = le.AppendUint32(w, size)
	w = append(w, body...)
	return le.AppendUint32(w, size)
}

// padded is a copy of b filled with zeroes to a multiple of four bytes.
func padded(b []byte) []byte {
	return append(append([]byte(nil), b...), make([]byte, -len(b)&3)...)
}

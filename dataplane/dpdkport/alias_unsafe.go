package dpdkport

import "unsafe"

// sameBytes reports whether a and b begin at the same address. It reads no
// memory; comparing contents would not tell a copy from the original.
func sameBytes(a, b []byte) bool { return unsafe.SliceData(a) == unsafe.SliceData(b) }

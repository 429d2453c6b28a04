package bench

import "unsafe"

// alignHuge cuts b so that it begins where a 2 MiB page does.
func alignHuge(b []byte) []byte {
	return b[-uintptr(unsafe.Pointer(&b[0]))&(hugeSize-1):]
}

//go:build dpdk

package dpdk

/*
#include "shim.h"
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// commands are the registered telemetry commands by path. DPDK cannot forget a
// command, so neither do we.
var commands sync.Map

// Register adds a command to DPDK's telemetry. Answer is called on threads of
// DPDK, several at once, and must not wait for lcores.
func (e *EAL) Register(c Command) error {
	if _, twice := commands.LoadOrStore(c.Path, &c); twice {
		return &Error{Object: "telemetry " + c.Path, Step: "register", Reason: "there already", Code: int(unix.EEXIST)}
	}
	path, help := C.CString(c.Path), C.CString(c.Help)
	defer C.free(unsafe.Pointer(path))
	defer C.free(unsafe.Pointer(help))
	mark := C.edx_log_mark()
	if code := C.edx_tel_register(path, help); code < 0 {
		commands.Delete(c.Path)
		return failed("telemetry "+c.Path, "register", code, mark)
	}
	return nil
}

//export edemuxTelemetry
func edemuxTelemetry(cmd, params *C.char, d *C.struct_rte_tel_data) (code C.int) {
	defer func() {
		if v := recover(); v != nil {
			code = -C.EIO
		}
	}()
	c, ok := commands.Load(C.GoString(cmd))
	if !ok {
		return -C.ENOENT
	}
	if code := C.rte_tel_data_start_dict(d); code < 0 {
		return code
	}
	return fill(d, c.(*Command).run(C.GoString(params)))
}

// fill writes fields into a dictionary.
func fill(d *C.struct_rte_tel_data, fields []Field) C.int {
	for _, f := range fields {
		if code := fillOne(d, f); code < 0 {
			return code
		}
	}
	return 0
}

func fillOne(d *C.struct_rte_tel_data, f Field) C.int {
	name := C.CString(telName(f.Name))
	defer C.free(unsafe.Pointer(name))
	switch v := f.Value.(type) {
	case uint64:
		return C.edx_tel_u64(d, name, C.uint64_t(v))
	case string:
		s := C.CString(telText(v))
		defer C.free(unsafe.Pointer(s))
		return C.rte_tel_data_add_dict_string(d, name, s)
	case []uint64, []string, []Field:
		return fillContainer(d, name, v)
	}
	panic(fmt.Sprintf("telemetry field %s: type %T", f.Name, f.Value))
}

func fillContainer(d *C.struct_rte_tel_data, name *C.char, v any) (code C.int) {
	in := C.rte_tel_data_alloc()
	if in == nil {
		return -C.ENOMEM
	}
	switch v := v.(type) {
	case []uint64:
		code = C.edx_tel_start_u64(in)
		for _, n := range v[:min(len(v), telArray)] {
			if code == 0 {
				code = C.edx_tel_array_u64(in, C.uint64_t(n))
			}
		}
	case []string:
		code = C.edx_tel_start_string(in)
		for _, s := range v[:min(len(v), telArray)] {
			if code == 0 {
				c := C.CString(telText(s))
				code = C.rte_tel_data_add_array_string(in, c)
				C.free(unsafe.Pointer(c))
			}
		}
	case []Field:
		if code = C.rte_tel_data_start_dict(in); code == 0 {
			code = fill(in, v[:min(len(v), telFields)])
		}
	}
	if code == 0 {
		code = C.rte_tel_data_add_dict_container(d, name, in, 0)
	}
	if code < 0 {
		C.rte_tel_data_free(in)
	}
	return code
}

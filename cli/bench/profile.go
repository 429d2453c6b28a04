package bench

import (
	"os"
	"runtime/pprof"
)

// profileTo starts a CPU profile that goes to file, nowhere when file is "",
// and returns what ends it. `make pgo` makes the profile with which the
// compiler builds the program.
func profileTo(file string) (stop func(), err error) {
	if file == "" {
		return func() {}, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		f.Close()
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}, nil
}

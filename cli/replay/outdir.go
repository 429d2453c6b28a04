package replay

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"edemux/cli/setup"
	"edemux/dataplane"
	"edemux/dataplane/capture"
	"edemux/dataplane/mib"
)

// outDir writes --out: a pcapng per worker with its packets in input order,
// and drops.pcapng with the reason of each as its comment. Without --out it
// holds the files of the workers whose handler is pcap, in the present folder.
type outDir struct {
	dir   string
	files map[string]*outFile
}

type outFile struct {
	f *os.File
	w *capture.NGWriter
}

// openOutDir makes the files, also for workers that will get nothing. It
// returns nil when none is wanted.
func openOutDir(dir string, h *setup.Host) (*outDir, error) {
	o := &outDir{dir: dir, files: map[string]*outFile{}}
	var names []string
	for _, w := range h.Engine.Workers() {
		if dir != "" || w.Handler == dataplane.HandlePcap {
			names = append(names, fileName(w.Name))
		}
	}
	if dir != "" {
		names = append(names, dropsName)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	for _, n := range names {
		if err := o.create(n); err != nil {
			return nil, err
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	return o, nil
}

// dropsName cannot be that of a worker, whose names have an index.
const dropsName = "drops"

func fileName(worker string) string { return strings.ReplaceAll(worker, "/", "-") }

// write puts the frame where its decision says.
func (o *outDir) write(r *record, d *dataplane.Decision, n *dataplane.Names) error {
	switch d.Verdict {
	case mib.Deliver:
		return o.put(fileName(n.Worker(d.Worker)), r, "")
	case mib.Drop:
		return o.put(dropsName, r, d.Reason.String())
	}
	return nil
}

func (o *outDir) put(name string, r *record, comment string) error {
	f := o.files[name]
	if f == nil {
		return nil
	}
	iface, err := f.w.Interface(r.port, r.frame.Link)
	if err != nil {
		return err
	}
	return f.w.Write(iface, r.frame, comment)
}

func (o *outDir) create(name string) error {
	file, err := os.Create(filepath.Join(o.dir, name+".pcapng"))
	if err != nil {
		return err
	}
	w, err := capture.NewNGWriter(file, "edemux")
	if err != nil {
		file.Close()
		return err
	}
	o.files[name] = &outFile{file, w}
	return nil
}

// close finishes all files.
func (o *outDir) close() error {
	var errs []error
	for _, f := range o.files {
		errs = append(errs, f.w.Flush(), f.f.Close())
	}
	return errors.Join(errs...)
}

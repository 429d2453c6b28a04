package shell

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"edemux/cli/command"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// errInterrupt: Ctrl-C at the prompt.
var errInterrupt = errors.New("interrupted")

// terminal edits lines on a real terminal. While a line is read, it is in raw
// mode; while a command runs, Ctrl-C is a signal, what is typed ahead waits
// and is not echoed. readLine is for one goroutine; say is for any.
type terminal struct {
	in, out *os.File
	before  *term.State
	keys    *keys
	history *history
	prompt  string
	objects func(command.Kind) []string

	mu      sync.Mutex // guards editor and reading
	editor  *term.Terminal
	reading bool
	found   int    // entry that the last Ctrl-R found
	sought  string // what it looked for, "" when the last key was another
	shown   string // the line that Ctrl-R put there
	signals chan os.Signal
}

func newTerminal(in, out *os.File, h *history, objects func(command.Kind) []string) (*terminal, error) {
	before, err := term.GetState(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	t := &terminal{in: in, out: out, before: before, history: h, prompt: "edemux> ", objects: objects, keys: &keys{in: in}}
	t.newEditor()
	t.signals = make(chan os.Signal, 4)
	signal.Notify(t.signals, syscall.SIGWINCH, syscall.SIGTERM, syscall.SIGHUP)
	go t.watchSignals()
	return t, nil
}

// newEditor starts with an empty line.
func (t *terminal) newEditor() {
	e := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{t.keys, t.out}, t.prompt)
	e.History = t.history
	e.AutoCompleteCallback = t.key
	_ = e.SetSize(terminalSize(int(t.out.Fd())))
	t.mu.Lock()
	t.editor = e
	t.mu.Unlock()
}

// watchSignals tells the editor of a new size. A signal that ends the program
// gives the terminal back first.
func (t *terminal) watchSignals() {
	for s := range t.signals {
		if s == syscall.SIGWINCH {
			t.mu.Lock()
			e := t.editor
			t.mu.Unlock()
			_ = e.SetSize(terminalSize(int(t.out.Fd())))
			continue
		}
		t.restore()
		signal.Reset(s)
		_ = syscall.Kill(os.Getpid(), s.(syscall.Signal))
	}
}

// close gives the terminal back.
func (t *terminal) close() {
	signal.Stop(t.signals)
	close(t.signals)
	t.restore()
}

func (t *terminal) restore() { _ = term.Restore(int(t.in.Fd()), t.before) }

// quiet is the mode in which commands run.
func (t *terminal) quiet() error {
	fd := int(t.in.Fd())
	m, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return err
	}
	m.Iflag |= unix.ICRNL
	m.Oflag |= unix.OPOST | unix.ONLCR
	m.Lflag |= unix.ISIG | unix.NOFLSH // Ctrl-C must not cut a control sequence in two
	m.Lflag &^= unix.ECHO | unix.ICANON
	return unix.IoctlSetTermios(fd, unix.TCSETS, m)
}

// readLine returns the next line, errInterrupt for Ctrl-C, io.EOF for Ctrl-D.
func (t *terminal) readLine() (string, error) {
	if _, err := term.MakeRaw(int(t.in.Fd())); err != nil {
		return "", err
	}
	t.editor.SetBracketedPasteMode(true)
	_ = t.editor.SetSize(terminalSize(int(t.out.Fd())))
	t.setReading(true)
	line, err := t.editor.ReadLine()
	t.setReading(false)
	t.editor.SetBracketedPasteMode(false)
	if e := t.quiet(); e != nil && err == nil {
		err = e
	}
	switch {
	case errors.Is(err, term.ErrPasteIndicator):
		return line, nil
	case err == io.EOF && t.keys.interrupted:
		_, _ = io.WriteString(t.out, "^C\n")
		t.newEditor()
		return "", errInterrupt
	case err == io.EOF:
		_, _ = io.WriteString(t.out, "\n")
	}
	return line, err
}

func (t *terminal) setReading(on bool) {
	t.mu.Lock()
	t.reading = on
	t.mu.Unlock()
}

// say prints a message, above the line that is being edited.
func (t *terminal) say(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reading {
		_, _ = io.WriteString(t.editor, text)
		return
	}
	_, _ = io.WriteString(t.out, text)
}

const (
	keyTab   = '\t'
	keyCtrlR = 18
)

// key handles what the editor does not: completion, `?` and history search.
// pos is a byte of line.
func (t *terminal) key(line string, pos int, key rune) (string, int, bool) {
	if key != keyCtrlR {
		t.sought = ""
	}
	switch key {
	case keyTab:
		return t.complete(line, pos)
	case keyCtrlR:
		return t.search(line)
	case '?':
		if literalMark(line[:pos]) {
			return "", 0, false
		}
		t.show(line+"?", command.Question(line[:pos], command.InCtl|command.InShell, t.objects))
		return line, pos, true
	}
	return "", 0, false
}

// show prints text between the line as it stands and the line to go on with.
func (t *terminal) show(line, text string) {
	_, _ = io.WriteString(t.editor, t.prompt+line+"\n"+text)
}

func (t *terminal) complete(line string, pos int) (string, int, bool) {
	insert, list := completion(line[:pos], t.objects)
	if insert == "" && len(list) == 0 {
		_, _ = io.WriteString(t.out, "\a")
		return line, pos, true
	}
	if insert != "" {
		head := line[:pos-overlap(line[:pos], insert)] + insert
		tail := line[pos:]
		if strings.HasSuffix(head, " ") {
			tail = strings.TrimPrefix(tail, " ")
		}
		return head + tail, len(head), true
	}
	width, _ := terminalSize(int(t.out.Fd()))
	t.show(line, inColumns(list, width))
	return line, pos, true
}

// search replaces the line by the newest entry that contains it; the next
// Ctrl-R goes to an older one.
func (t *terminal) search(line string) (string, int, bool) {
	from := 0
	if t.sought != "" && line == t.shown {
		from = t.found + 1
	} else {
		t.sought = line
	}
	for {
		i, ok := t.history.search(t.sought, from)
		if !ok || t.sought == "" {
			_, _ = io.WriteString(t.out, "\a")
			return line, len(line), true
		}
		if t.found = i; t.history.At(i) != line {
			t.shown = t.history.At(i)
			return t.shown, len(t.shown), true
		}
		from = i + 1
	}
}

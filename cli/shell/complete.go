package shell

import (
	"context"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"edemux/cli/command"
	"edemux/cli/control"
)

// Live objects: how long names are kept, and how long a key press may wait for
// them.
const (
	objectsKept = 2 * time.Second
	objectsWait = 500 * time.Millisecond
)

// objects asks the daemon for the names that completion offers. Any goroutine.
type objects struct {
	daemon *control.Client
	now    func() time.Time

	mu    sync.Mutex
	names map[command.Kind][]string
	at    map[command.Kind]time.Time
}

func newObjects(d *control.Client) *objects {
	return &objects{daemon: d, now: time.Now, names: map[command.Kind][]string{}, at: map[command.Kind]time.Time{}}
}

// list returns the names of a kind; nil when nobody answers in time.
func (o *objects) list(kind command.Kind) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if at, ok := o.at[kind]; ok && o.now().Sub(at) < objectsKept {
		return o.names[kind]
	}
	ctx, cancel := context.WithTimeout(context.Background(), objectsWait)
	defer cancel()
	names, err := o.daemon.Objects(ctx, kind)
	if err != nil {
		names = nil
	}
	o.names[kind], o.at[kind] = names, o.now()
	return names
}

// forget makes the next list ask again: a command may have changed anything.
func (o *objects) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.at)
}

// completion says what Tab does at the end of line: replace its last word by
// insert, or, when insert is "", offer the words of list.
func completion(line string, names func(command.Kind) []string) (insert string, list []string) {
	start, words := command.Complete(line, command.InCtl|command.InShell, names)
	typed := line[start:]
	if len(words) == 0 {
		return "", nil
	}
	common := words[0]
	for _, w := range words[1:] {
		for !strings.HasPrefix(w, common) {
			_, n := utf8.DecodeLastRuneInString(common)
			common = common[:len(common)-n]
		}
	}
	switch {
	case len(words) == 1 && takesMore(line[:start], words[0]):
		if common == typed {
			return "", words
		}
		return common, nil
	case len(words) == 1:
		return command.Quote(common) + " ", nil
	case len(common) > len(typed) && strings.HasPrefix(common, typed):
		return common, nil
	}
	return "", words
}

// takesMore: a word after which a blank would be wrong as often as right, since
// `=` and a value may follow.
func takesMore(before, word string) bool {
	verb, _, _ := strings.Cut(strings.TrimSpace(before), " ")
	_, err := command.FindSysctl(word)
	return err == nil && verb != "" && strings.HasPrefix("sysctl", verb)
}

// overlap is how many bytes at the end of line are the word that insert
// replaces.
func overlap(line, insert string) int {
	start, _ := command.Next(line, command.InCtl|command.InShell)
	return len(line) - start
}

// literalMark: `?` is a character of a quoted word, a mapping or a regular
// expression that has begun, not a question.
func literalMark(line string) bool {
	var quote rune
	depth := 0
	escaped := false
	for _, r := range line {
		switch {
		case escaped:
			escaped = false
		case quote != 0:
			if r == quote {
				quote = 0
			}
			escaped = r == '\\' && quote == '"'
		case r == '\\':
			escaped = true
		case r == '\'' || r == '"':
			quote = r
		case r == '{':
			depth++
		case r == '}':
			depth--
		}
	}
	if quote != 0 || depth > 0 || escaped {
		return true
	}
	start, list := command.Next(line, command.InCtl|command.InShell)
	return start < len(line) && len(list) == 1 && list[0].Placeholder && list[0].Kind == command.KindText
}

// inColumns sets words in as many columns as fit, down first.
func inColumns(words []string, width int) string {
	widest := 0
	for _, w := range words {
		widest = max(widest, utf8.RuneCountInString(w))
	}
	cols := max(1, (width-2)/(widest+2))
	rows := (len(words) + cols - 1) / cols
	var b strings.Builder
	for r := range rows {
		line := ""
		for i := r; i < len(words); i += rows {
			line += "  " + words[i] + strings.Repeat(" ", widest-utf8.RuneCountInString(words[i]))
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

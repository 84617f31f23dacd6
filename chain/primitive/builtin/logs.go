package builtin

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rye-os/rye/fault"
)

// Bounds of reading logs.
const (
	logsDir      = ".ai/logs/rye" // RYE OS's directory, in the project
	logsShown    = 50
	maxLogsShown = 1000
	logErrors    = 20
	maxLogFiles  = 100     // the newest
	maxLogBytes  = 4 << 20 // from the end of each
	maxLogLine   = 2000    // characters of a line that are shown
	maxLogLines  = 200_000 // of all files together
)

type logsParams struct {
	Item   string `json:"item"`  // logs, stats, errors or all
	Level  string `json:"level"` // only these entries; "" is every level
	Limit  *int   `json:"limit"` // the most entries, the newest
	LogDir string `json:"log_dir"`
}

// logEntry is one line of a log. Timestamp is copied from the line; "" if it has none.
type logEntry struct {
	Timestamp string `json:"timestamp"`
	Level     string `json:"level"` // DEBUG, INFO, WARNING, ERROR, CRITICAL or UNKNOWN
	Message   string `json:"message"`
	File      string `json:"file"`
}

type logsList struct {
	Entries  []logEntry `json:"entries"`
	Total    int        `json:"total"` // all that fit, shown or not
	Returned int        `json:"returned"`
	LogDir   string     `json:"log_dir"`
	Exists   bool       `json:"exists"`
}

type logsStats struct {
	Exists    bool           `json:"exists"`
	LogDir    string         `json:"log_dir"`
	Files     int            `json:"file_count"`
	Bytes     int64          `json:"total_size_bytes"`
	Levels    map[string]int `json:"level_counts"`
	Oldest    string         `json:"oldest_entry,omitempty"`
	Newest    string         `json:"newest_entry,omitempty"`
	Truncated bool           `json:"truncated"` // some entries were not read
}

// logFiles are the logs of one directory, read.
type logFiles struct {
	dir     string
	exists  bool
	entries []logEntry // oldest file first
	stats   logsStats
}

// logs reads the log files in a directory of the project: counts by level, and the newest
// entries.
func logs(ctx context.Context, in Input) (any, error) {
	var q logsParams
	if err := params(in, &q); err != nil {
		return nil, err
	}
	limit, err := bounded("limit", q.Limit, logsShown, 1, maxLogsShown)
	if err != nil {
		return nil, err
	}
	level := ""
	if q.Level != "" {
		if level = levelOf(q.Level); level == "UNKNOWN" {
			return nil, fault.New(fault.Usage, "parameters: level is %q, want DEBUG, INFO, WARNING, ERROR or CRITICAL", q.Level)
		}
	}
	all, err := readLogs(ctx, in, cmp.Or(q.LogDir, logsDir))
	if err != nil {
		return nil, err
	}
	list := all.list(limit, func(e logEntry) bool { return level == "" || e.Level == level })
	bad := all.list(logErrors, func(e logEntry) bool { return e.Level == "WARNING" || e.Level == "ERROR" || e.Level == "CRITICAL" })
	var data any
	switch q.Item {
	case "logs":
		data = list
	case "stats":
		data = all.stats
	case "errors":
		data = bad
	case "", "all":
		data = map[string]any{"logs": list, "stats": all.stats, "errors": bad}
	default:
		return nil, fault.New(fault.Usage, "parameters: item is %q, want logs, stats, errors or all", q.Item)
	}
	return struct {
		Success bool `json:"success"`
		Data    any  `json:"data"`
	}{true, data}, nil
}

// list returns the newest entries that fit.
func (l *logFiles) list(limit int, fits func(logEntry) bool) logsList {
	out := logsList{Entries: []logEntry{}, LogDir: l.dir, Exists: l.exists}
	for _, e := range l.entries {
		if fits(e) {
			out.Entries = append(out.Entries, e)
		}
	}
	out.Total = len(out.Entries)
	out.Entries = out.Entries[max(0, out.Total-limit):]
	out.Returned = len(out.Entries)
	return out
}

// readLogs reads the ends of a directory's *.log files. A missing directory has none.
func readLogs(ctx context.Context, in Input, dir string) (*logFiles, error) {
	l := &logFiles{dir: dir, stats: logsStats{LogDir: dir, Levels: map[string]int{}}}
	_, p, err := lookAt(in, dir)
	if fault.Is(err, fault.NotFound) {
		return l, nil
	} else if err != nil {
		return nil, err
	}
	defer p.close()
	if !p.info.IsDir() {
		return nil, fault.New(fault.Usage, "log_dir %q: it is a file", dir)
	}
	root, err := p.dir.OpenRoot(p.name)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	names, complete, err := readDir(root, maxWide)
	if err != nil {
		return nil, err
	}
	l.exists, l.stats.Exists, l.stats.Truncated = true, true, !complete
	files := logsOf(root, names)
	if len(files) > maxLogFiles {
		files, l.stats.Truncated = files[len(files)-maxLogFiles:], true
	}
	for _, info := range files {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := l.file(root, info); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// logsOf returns the regular files that end in .log, the last one written at the end.
func logsOf(root *os.Root, names []fs.DirEntry) (files []fs.FileInfo) {
	for _, e := range names {
		info, err := root.Lstat(e.Name())
		if err == nil && info.Mode().IsRegular() && path.Ext(e.Name()) == ".log" {
			files = append(files, info)
		}
	}
	slices.SortStableFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	return files
}

// file reads the end of one log.
func (l *logFiles) file(root *os.Root, info fs.FileInfo) error {
	f, err := root.OpenFile(info.Name(), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil || !os.SameFile(info, now) {
		return fault.New(fault.Stale, "%s: it changed while it was read", info.Name()).Advise("call again")
	}
	l.stats.Files++
	l.stats.Bytes += now.Size()
	from := max(0, now.Size()-maxLogBytes)
	l.stats.Truncated = l.stats.Truncated || from > 0
	r := bufio.NewReader(io.NewSectionReader(f, from, maxLogBytes))
	for first := from > 0; ; first = false {
		line, err := r.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 && !first { // the first may lack its beginning
			l.add(line, info.Name())
		}
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (l *logFiles) add(line []byte, file string) {
	if len(l.entries) == maxLogLines {
		l.stats.Truncated = true
		return
	}
	e := parseLogLine(string(line))
	e.Message, _ = clip([]byte(e.Message), maxLogLine)
	e.File = file
	l.entries = append(l.entries, e)
	l.stats.Levels[e.Level]++
	if e.Timestamp != "" {
		l.stats.Oldest, l.stats.Newest = cmp.Or(l.stats.Oldest, e.Timestamp), e.Timestamp
	}
}

// The forms of lines: the form of Python's logging, LEVEL: message, and time LEVEL message, as
// many programs write it. They are compiled at their first use, because every start would pay for
// them.
var (
	pythonLine = compiled(`^(\d{4}-\d\d-\d\d[ T][0-9:.,]+(?:Z|[+-]\d\d:?\d\d)?)\s+-\s+\S+\s+-\s+([A-Za-z]+)\s+-\s+(.*)$`)
	timedLine  = compiled(`^\[?(\d{4}[-/]\d\d[-/]\d\d[ T][0-9:.,]+(?:Z|[+-]\d\d:?\d\d)?)\]?\s+\[?([A-Za-z]+)\]?:?\s+(.*)$`)
	levelLine  = compiled(`^([A-Za-z]+):\s+(.*)$`)
	fieldOf    = compiled(`(?:^| )(time|level|msg)=("(?:[^"\\]|\\.)*"|\S*)`)
)

func compiled(form string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(form) })
}

// parseLogLine reads one line. A line of an unknown form is a message of level UNKNOWN.
func parseLogLine(line string) logEntry {
	line = strings.ToValidUTF8(line, "\uFFFD")
	if strings.HasPrefix(line, "{") {
		if e, ok := jsonLogLine(line); ok {
			return e
		}
	}
	for _, form := range []*regexp.Regexp{pythonLine(), timedLine()} {
		if m := form.FindStringSubmatch(line); m != nil && levelOf(m[2]) != "UNKNOWN" {
			return logEntry{Timestamp: m[1], Level: levelOf(m[2]), Message: m[3]}
		}
	}
	if m := levelLine().FindStringSubmatch(line); m != nil && levelOf(m[1]) != "UNKNOWN" {
		return logEntry{Level: levelOf(m[1]), Message: m[2]}
	}
	e := logEntry{Level: "UNKNOWN", Message: line}
	for _, m := range fieldOf().FindAllStringSubmatch(line, 20) { // of Go's log/slog
		value := m[2]
		if s, err := strconv.Unquote(value); err == nil {
			value = s
		}
		switch m[1] {
		case "time":
			e.Timestamp = value
		case "level":
			e.Level = levelOf(value)
		case "msg":
			e.Message = value
		}
	}
	return e
}

// jsonLogLine reads a line that is an object, by the usual names of its members in loggers.
func jsonLogLine(line string) (e logEntry, ok bool) {
	var m map[string]any
	if json.Unmarshal([]byte(line), &m) != nil {
		return e, false
	}
	first := func(names ...string) string {
		for _, n := range names {
			if s, _ := m[n].(string); s != "" {
				return s
			}
		}
		return ""
	}
	e = logEntry{Timestamp: first("timestamp", "time", "ts", "@timestamp"), Level: levelOf(first("level", "severity", "lvl", "levelname")),
		Message: first("message", "msg", "event")}
	if e.Message == "" {
		e.Message = line
	}
	return e, true
}

// levelOf converts the levels of loggers to one spelling.
func levelOf(s string) string {
	switch s = strings.ToUpper(s); s {
	case "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL":
		return s
	case "TRACE":
		return "DEBUG"
	case "NOTICE":
		return "INFO"
	case "WARN":
		return "WARNING"
	case "ERR":
		return "ERROR"
	case "FATAL", "PANIC", "ALERT", "EMERGENCY":
		return "CRITICAL"
	}
	return "UNKNOWN"
}

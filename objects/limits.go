package objects

import (
	"strconv"
	"strings"
	"time"

	"github.com/rye-os/rye/internal/words"
)

// Limits bounds the resources of one run of a tool. A zero field is not stated: the
// default of the place that runs the tool applies. docs/format/item.md has the text
// form.
type Limits struct {
	Memory    int64         // bytes, of each process
	Processes int64         // at one time, including the first one
	CPU       time.Duration // of processor time, of each process
	File      int64         // bytes of one written file
	Temp      int64         // bytes of the private temporary directory
	Time      time.Duration // from the start to the end
	Output    int64         // bytes that are kept of each stream
}

// Bounds for the limits that a tool may state. They are wide; policy and the machine set
// lower ones.
const (
	MaxLimitBytes     = 1 << 40            // 1 TiB
	MaxLimitTime      = 7 * 24 * time.Hour // of Time and CPU
	MaxLimitProcesses = 1 << 20
)

// Limit is one limit that a tool states.
type Limit struct {
	Name  string // "memory"
	Value int64  // bytes, nanoseconds or processes
	Text  string // for people: "512MiB", "1m30s", "4"
}

// Stated returns the limits that are stated, sorted by name.
func (l Limits) Stated() []Limit {
	bytes := func(n int64) string { return sizeText(n) }
	length := func(n int64) string { return time.Duration(n).String() }
	count := func(n int64) string { return strconv.FormatInt(n, 10) }
	var out []Limit
	for _, f := range []struct {
		name  string
		value int64
		text  func(int64) string
	}{
		{"cpu", int64(l.CPU), length}, {"file", l.File, bytes}, {"memory", l.Memory, bytes}, {"output", l.Output, bytes},
		{"processes", l.Processes, count}, {"temp", l.Temp, bytes}, {"time", int64(l.Time), length},
	} {
		if f.value != 0 {
			out = append(out, Limit{f.name, f.value, f.text(f.value)})
		}
	}
	return out
}

// String returns the stated limits in one line ("memory 512MiB, time 30s"), or "" for none.
func (l Limits) String() string {
	var parts []string
	for _, s := range l.Stated() {
		parts = append(parts, s.Name+" "+s.Text)
	}
	return strings.Join(parts, ", ")
}

// And returns the limits that satisfy both: for each, the smaller stated value.
func (l Limits) And(m Limits) Limits {
	return Limits{
		Memory: lesser(l.Memory, m.Memory), Processes: lesser(l.Processes, m.Processes), CPU: lesser(l.CPU, m.CPU),
		File: lesser(l.File, m.File), Temp: lesser(l.Temp, m.Temp), Time: lesser(l.Time, m.Time), Output: lesser(l.Output, m.Output),
	}
}

func lesser[N ~int64](a, b N) N {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// limitsOf reads the limits of a tool. wrong is the reason for a refusal, or "".
func limitsOf(fields map[string]any) (l Limits, wrong string) {
	sizes := map[string]*int64{"memory": &l.Memory, "file": &l.File, "temp": &l.Temp, "output": &l.Output}
	times := map[string]*time.Duration{"cpu": &l.CPU, "time": &l.Time}
	for _, key := range sortedKeys(fields) {
		v := fields[key]
		want, ok := "", false
		switch {
		case sizes[key] != nil:
			want = `bytes such as 1048576, "512MiB" or "2GiB", from 1 to 1TiB`
			*sizes[key], ok = sizeOf(v)
		case times[key] != nil:
			want = `seconds such as 30, or a time such as "90s", "5m" or "1h30m", from 1s to 168h`
			*times[key], ok = lengthOf(v)
		case key == "processes":
			want = "a number from 1 to " + strconv.Itoa(MaxLimitProcesses)
			l.Processes, ok = wholeOf(v, MaxLimitProcesses)
		default:
			return l, strconv.Quote(words.Brief(key)) + " is not known; want memory, processes, cpu, file, temp, time or output"
		}
		if !ok {
			return l, key + ": want " + want
		}
	}
	return l, ""
}

// wholeOf reads a whole number from 1 to max, which may be in quotes.
func wholeOf(v any, max int64) (int64, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), v >= 1 && int64(v) <= max
	case float64: // JSON has no other numbers
		return int64(v), v >= 1 && v <= float64(max) && v == float64(int64(v))
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil && n >= 1 && n <= max && strconv.FormatInt(n, 10) == v
	}
	return 0, false
}

// units of bytes, the largest first.
var units = []struct {
	name  string
	bytes int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// sizeOf reads a number of bytes: whole, with or without a unit of 1,024.
func sizeOf(v any) (int64, bool) {
	text, _ := v.(string)
	for _, u := range units {
		if digits, ok := strings.CutSuffix(text, u.name); ok {
			n, ok := wholeOf(digits, MaxLimitBytes/u.bytes)
			return n * u.bytes, ok
		}
	}
	return wholeOf(v, MaxLimitBytes)
}

func sizeText(n int64) string {
	for _, u := range units {
		if n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// lengthOf reads a length of time in whole seconds.
func lengthOf(v any) (time.Duration, bool) {
	if n, ok := wholeOf(v, int64(MaxLimitTime/time.Second)); ok {
		return time.Duration(n) * time.Second, true
	}
	text, _ := v.(string)
	if text == "" || strings.Trim(text, "0123456789hms") != "" {
		return 0, false
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= time.Second && d <= MaxLimitTime && d%time.Second == 0
}
